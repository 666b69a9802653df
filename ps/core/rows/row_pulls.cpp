#include "ps/core/rows/row_pulls.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ps/core/keys/key_map.h"
#include "ps/core/keys/seen_versions.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/row_memory.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {
namespace {

using Decision = DuplicateFilter::Decision;

MonotonicTime DeadlineAfter(Duration remaining, MonotonicTime now) {
  return remaining < kNever - now ? now + remaining : kNever;
}

}  // namespace

Status RowPulls::Check(const Pull& pull) const {
  const TableStore* store = tables_.Rows(pull.table);
  const size_t values = pull.keys.size() * (store == nullptr ? 1 : store->spec().options.dim);
  if (values <= kFloatsPerMessageMax) return OkStatus();
  return Error(StatusCode::kInvalidArgument, std::to_string(pull.keys.size()) + " keys with " + std::to_string(values) +
                                                 " values in one message; at most " +
                                                 std::to_string(kFloatsPerMessageMax) + " values are allowed");
}

bool RowPulls::Admit(const Pull& pull, RowOutputs& out) {
  Status status = Check(pull);
  if (status.ok()) return true;
  Refuse(pull, std::move(status), out);
  return false;
}

void RowPulls::Refuse(const Pull& pull, Status status, RowOutputs& out) {
  ++node_.counters().refused;
  node_.Send(pull.origin, PullRefused{.request = pull.request, .map_version = {}, .status = std::move(status)}, out);
}

void RowPulls::Take(Pull&& pull, MonotonicTime now, RowOutputs& out) {
  if (!node_.IsMember(pull.origin)) return;
  if (tables_.Rows(pull.table) == nullptr) return Refuse(pull, RowTables::NotInstalled(pull.table), out);
  const MonotonicTime deadline = DeadlineAfter(pull.remaining, now);
  ParkedPull parked{.pull = std::move(pull), .deadline = deadline};
  if (OwnPushesContained(parked)) {
    Answer(parked.pull, out);
  } else {
    Park(std::move(parked), now, out);
  }
}

// What was decided stays decided while the rows are here, so the search continues where it stopped.
bool RowPulls::OwnPushesContained(ParkedPull& parked) const {
  if (node_.Mutant(RowMutation::kPullIgnoresOwnPushes)) return true;
  const std::vector<After>& after = parked.pull.after;
  const NodeId origin = parked.pull.origin;
  const SequenceNumber acked_below = records_.filter().AckedBelow(origin);
  for (; parked.met < after.size(); ++parked.met) {
    const After& wanted = after[parked.met];
    if (wanted.sequence <= acked_below) continue;
    if (records_.filter().Find(origin, wanted.sequence, wanted.position) == Decision::kOpen) return false;
  }
  return true;
}

void RowPulls::Answer(const Pull& pull, RowOutputs& out) {
  const TableStore& store = *tables_.Rows(pull.table);
  node_.counters().pulled_keys += pull.keys.size();
  PullReply reply{.request = pull.request, .map_version = {}, .rows = {}, .positions = pull.positions, .versions = {}};
  const size_t values = pull.keys.size() * store.spec().options.dim;
  std::shared_ptr<void> memory;
  if (node_.options().row_memory) memory = node_.options().row_memory(pull.origin, values * sizeof(float));
  if (memory == nullptr) memory = NewRowMemory(values * sizeof(float));
  reply.rows = Slice<float>::FilledIn(std::move(memory), values,
                                      [&](std::span<float> rows) { store.Pull(pull.keys.view(), rows); });
  reply.versions = VersionsOf(pull, store);
  node_.Send(pull.origin, std::move(reply), out);
}

// Of the measured keys only: a version lies in a line of memory of its own.
Slice<RowVersion> RowPulls::VersionsOf(const Pull& pull, const TableStore& store) const {
  const MeasuredPlaces measured(pull.table, pull.keys.view());
  std::array<Key, MeasuredPlaces::kMax> keys{};
  for (size_t i = 0; i < measured.count; ++i) keys[i] = pull.keys[measured.places[i]];
  return Slice<RowVersion>::Filled(measured.count, [&](std::span<RowVersion> versions) {
    RowTables::ReadVersions(store, std::span(keys).first(measured.count), versions);
    if (node_.map().recoveries == 0) return;
    // A row lost in a recovery is reinitialized, later than what was seen.
    for (size_t i = 0; i < versions.size(); ++i) {
      if (versions[i] == RowVersion() && !store.Contains(keys[i])) versions[i] = RowVersion(node_.map().recoveries, 0);
    }
  });
}

void RowPulls::Park(ParkedPull parked, MonotonicTime now, RowOutputs& out) {
  if (parked.deadline <= now) return;
  if (!parked_.HasRoom(parked.pull.origin)) {
    return Refuse(
        parked.pull,
        Error(StatusCode::kResourceExhausted, std::to_string(kParkedPullsPerOriginMax) +
                                                  " pulls of this worker wait for its own pushes; wait for some"),
        out);
  }
  ++node_.counters().parked_pulls;
  parked_.Add(std::move(parked));
}

void RowPulls::Retry(NodeId origin, RowOutputs& out) {
  parked_.TakeIf(origin, [&](ParkedPull& parked) {
    if (!OwnPushesContained(parked)) return false;
    Answer(parked.pull, out);
    return true;
  });
}

std::vector<Pull> RowPulls::TakeElsewhere(std::span<const uint32_t> shards) {
  std::vector<Pull> pulls;
  parked_.TakeIf([&](ParkedPull& parked) {
    const bool elsewhere = std::ranges::any_of(parked.pull.keys, [&](Key key) {
      return std::ranges::find(shards, node_.ShardOf(key)) != shards.end() &&
             !tables_.Rows(parked.pull.table)->Contains(key);
    });
    if (elsewhere) pulls.push_back(std::move(parked.pull));
    return elsewhere;
  });
  return pulls;
}

void RowPulls::SendAfter(TableId table, std::span<const Key> keys, NodeId to, MonotonicTime now, RowOutputs& out) {
  if (parked_.empty()) return;
  KeyMap<uint8_t> gone;
  for (const Key key : keys) gone[{table, key}] = 1;
  parked_.ReplaceEach([&](ParkedPull parked) -> std::optional<ParkedPull> {
    std::vector<uint32_t> stay, leave;
    for (uint32_t i = 0; i < parked.pull.keys.size(); ++i) {
      const bool left = parked.pull.table == table && gone.Contains({table, parked.pull.keys[i]});
      (left ? leave : stay).push_back(i);
    }
    if (leave.empty()) return parked;
    parked.pull.remaining = parked.deadline - now;
    parked.pull.by_home = false;
    node_.Send(to, PartOf(parked.pull, leave), out);
    if (stay.empty()) return std::nullopt;
    ParkedPull rest{.pull = PartOf(parked.pull, stay), .deadline = parked.deadline};
    if (!OwnPushesContained(rest)) return rest;
    Answer(rest.pull, out);  // it waited for pushes to the rows that left
    return std::nullopt;
  });
}

}  // namespace attune::ps
