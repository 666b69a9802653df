// Pushes and pulls at any node: apply here, wait for the row, queue at a home that is not ready, or send on.
#include <algorithm>
#include <array>
#include <utility>

#include "ps/core/keys/seen_versions.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/rows/state/parts.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;
using Decision = DuplicateFilter::Decision;

MonotonicTime DeadlineAfter(Duration remaining, MonotonicTime now) {
  return remaining < kNever - now ? now + remaining : kNever;
}

Status NoSuchTable(TableId table) {
  return Error(StatusCode::kNotFound,
               "table " + std::to_string(table.value()) + " is not installed on this server; open it first");
}

// Those of absent rows are 0.
void ReadVersions(const TableStore& store, std::span<const Key> keys, std::span<RowVersion> versions) {
  std::ranges::fill(versions, RowVersion());
  size_t at = 0;
  store.VisitRows(keys, [&](const RowView& row) {
    while (keys[at] != row.key) ++at;
    versions[at++] = row.version;
  });
}

// What the row had got between the pull that the gradient comes from and this push, which is in it now.
uint64_t StalenessOf(const Push& push, std::span<const RowVersion> versions) {
  if (push.seen == RowVersion() || push.seen_index >= versions.size()) return kNotMeasured;
  const RowVersion now = versions[push.seen_index];
  if (now.era() != push.seen.era() || now.counter() <= push.seen.counter()) return kNotMeasured;
  return now.counter() - push.seen.counter() - 1;
}

}  // namespace

NodeId RowNode::GuardOf(const Shard& shard) const {
  if (shard.backup != NodeId()) return shard.backup;
  if (node_.Mutant(RowMutation::kDualWrite)) return {};
  return shard.next_backup != node_.self() ? shard.next_backup : NodeId();
}

// --- where an operation goes

template <typename Operation>
void RowNode::Dispatch(NodeId from, Operation&& operation, MonotonicTime now, RowOutputs& out) {
  if (shards_.AllPlain(operation.keys)) return Here(std::move(operation), now, out);
  const size_t count = operation.keys.size();
  std::vector<uint64_t> present((count + 63) / 64, 0);
  if (const TableStore* store = tables_.Rows(operation.table); store != nullptr) {
    store->Contains(operation.keys.view(), present);
  }
  Groups<Place> groups;
  for (uint32_t i = 0; i < count; ++i) {
    const Key key = operation.keys[i];
    const uint32_t shard = node_.ShardOf(key);
    const Shard& known = node_.map().shards[shard];
    const bool sent_by_home = operation.by_home && from != node_.self() &&
                              ((operation.map_version >= known.routing_since && from == known.home) ||
                               node_.Mutant(RowMutation::kOldForwardTrusted));
    const bool is_present = ((present[i / 64] >> (i % 64)) & 1) != 0;
    groups.Add(shards_.Find({operation.table, key}, shard, known.home, node_.self(), is_present, sent_by_home), i);
  }
  const auto whole = std::make_shared<const Message>(operation);
  for (const auto& [place, places] : groups) {
    if (place.what == Place::What::kWait) {
      node_.counters().waited += places.size();
      for (const uint32_t i : places) {
        waiting_.Add({operation.table, operation.keys[i]}, whole, from, i);
      }
      continue;
    }
    auto part = PartOf(operation, places);
    if (place.what == Place::What::kHere) {
      Here(std::move(part), now, out);
    } else if (place.what == Place::What::kQueue) {
      waiting_.Queue({.from = from, .message = std::move(part)});
    } else {
      ++node_.counters().forwarded;
      part.by_home = place.by_home;
      node_.Send(place.to, std::move(part), out);
    }
  }
}

void RowNode::On(NodeId from, InstallWanted&& wanted, MonotonicTime now, RowOutputs& out) {
  Dispatch(from, std::move(wanted), now, out);
}

// What waited under an older map looks for its way again; whatever sent it is not trusted any more.
void RowNode::Requeue(std::vector<Queued> operations, MonotonicTime now, RowOutputs& out) {
  for (Queued& queued : operations) {
    std::visit(
        [&](auto&& operation) {
          if constexpr (requires { operation.by_home; }) operation.by_home = false;
          On(queued.from == node_.self() || node_.IsMember(queued.from) ? queued.from : node_.self(),
             std::move(operation), now, out);
        },
        std::move(queued.message));
  }
}

// Rows have arrived: what waited for them, in its order.
void RowNode::RunWaiting(TableId table, std::span<const Key> keys, MonotonicTime now, RowOutputs& out) {
  if (!waiting_.AnyForRows()) return;
  for (const auto& [message, places] : waiting_.TakeFor(table, keys)) {
    if (const auto* push = std::get_if<Push>(message.get())) {
      Here(PartOf(*push, places), now, out);
    } else if (const auto* pull = std::get_if<Pull>(message.get())) {
      Here(PartOf(*pull, places), now, out);
    } else if (const auto* wanted = std::get_if<InstallWanted>(message.get())) {
      Here(PartOf(*wanted, places), now, out);
    }
  }
}

// --- pushes

Status RowNode::Check(NodeId, const Push& push) const {
  if (push.sequence.value() > records_.filter().AckedBelow(push.origin).value() + kPushWindowMax) {
    return Error(StatusCode::kResourceExhausted, "more than " + std::to_string(kPushWindowMax) +
                                                     " pushes of one worker are in flight; wait for acknowledgements");
  }
  const TableStore* store = tables_.Rows(push.table);
  if (store == nullptr) return OkStatus();  // may be sent on
  const uint32_t dim = store->spec().options.dim;
  if (push.gradients.size() != push.keys.size() * dim) {
    return Error(StatusCode::kInvalidArgument, "table \"" + store->spec().name + "\" has dim " + std::to_string(dim) +
                                                   ": " + std::to_string(push.keys.size()) + " keys need " +
                                                   std::to_string(push.keys.size() * dim) + " values, " +
                                                   std::to_string(push.gradients.size()) + " were sent");
  }
  return OkStatus();
}

void RowNode::Refuse(const Push& push, Status status, RowOutputs& out) {
  ++node_.counters().refused;
  node_.Send(
      push.origin,
      PushRefused{
          .sequence = push.sequence, .map_version = {}, .positions = push.positions, .status = std::move(status)},
      out);
}

void RowNode::On(NodeId from, Push&& push, MonotonicTime now, RowOutputs& out) {
  ++node_.counters().pushes;
  if (!node_.IsMember(push.origin) && !node_.Mutant(RowMutation::kDeadOriginsPushAccepted)) return;
  const NodeId origin = push.origin;
  const bool settled_more = records_.filter().MergeAckedBelow(origin, push.acked_below);
  if (records_.filter().Covered(origin, push.sequence) && !node_.Mutant(RowMutation::kNoDuplicateFilter)) {
    ++node_.counters().duplicate_pushes;  // the origin knows already
  } else if (Status status = Check(from, push); !status.ok()) {
    Refuse(push, std::move(status), out);
  } else {
    Dispatch(from, std::move(push), now, out);
  }
  if (settled_more) RetryParked(origin, out);
}

void RowNode::Here(Push&& push, MonotonicTime, RowOutputs& out) {
  const NodeId origin = push.origin;
  if (!node_.IsMember(origin) && !node_.Mutant(RowMutation::kDeadOriginsPushAccepted)) return;
  if (records_.filter().Covered(origin, push.sequence) && !node_.Mutant(RowMutation::kNoDuplicateFilter)) {
    ++node_.counters().duplicate_pushes;
    return;
  }
  if (tables_.Rows(push.table) == nullptr) return Refuse(push, NoSuchTable(push.table), out);
#ifdef ATTUNE_DELIBERATE_MISTAKES
  if (node_.Mutant(RowMutation::kAcknowledgeBeforeApplying)) return AcknowledgeThenApply(std::move(push), out);
#endif
  if (node_.Mutant(RowMutation::kHighWaterMarkFilter)) {
    std::vector<FilterRecord> records;
    records_.filter().Collect(push.table, push.keys.view(), Held::kRow, false, records);
    for (const FilterRecord& record : records) {
      if (record.origin == origin && record.sequence > push.sequence) return Duplicate(push, out);
    }
  }
  if (!records_.filter().HasRecord(origin, push.sequence) || node_.Mutant(RowMutation::kNoDuplicateFilter)) {
    ApplyNew(push, out);
    return RetryParked(origin, out);
  }
  ++node_.counters().duplicate_pushes;
  if (node_.Mutant(RowMutation::kFilterPerMessage)) return Duplicate(push, out);
  // Some keys of this push were decided before: another part of the same push, or an earlier copy cut in other pieces.
  Groups<Decision> groups;
  for (uint32_t i = 0; i < push.keys.size(); ++i) {
    groups.Add(records_.filter().Find(origin, push.sequence, push.positions.At(i)), i);
  }
  for (const auto& [decision, places] : groups) {
    const Push part = PartOf(push, places);
    if (decision == Decision::kOpen) {
      ApplyNew(part, out);
    } else if (decision == Decision::kApplied) {
      Duplicate(part, out);
    } else {
      Refuse(part, Error(StatusCode::kFailedPrecondition, "these keys were refused when they were sent first"), out);
    }
  }
  RetryParked(origin, out);
}

#ifdef ATTUNE_DELIBERATE_MISTAKES
// A deliberate mistake (see RowMutation): what is acknowledged lies in memory until the next push and may be lost.
void RowNode::AcknowledgeThenApply(Push&& push, RowOutputs& out) {
  RowOutputs ignored;
  for (const Push& early : acknowledged_early_) {
    if (!records_.filter().HasRecord(early.origin, early.sequence)) ApplyNew(early, ignored);
  }
  acknowledged_early_.clear();
  node_.Send(push.origin,
             PushAck{.sequence = push.sequence, .map_version = {}, .positions = push.positions, .owner = node_.self()},
             out);
  acknowledged_early_.push_back(std::move(push));
}
#endif

void RowNode::ApplyNew(const Push& push, RowOutputs& out) {
  TableStore& store = *tables_.Rows(push.table);
  versions_.resize(push.keys.size());
  Status status = tables_.CheckRoom(push.table, push.keys.view(), shards_.directory().InTable(push.table));
  if (status.ok() && node_.map().recoveries > 0) {  // rows that begin now begin in this era
    status = store.CreateRows(push.keys.view(), RowVersion(node_.map().recoveries, 0));
  }
  if (status.ok()) {
    status = store.Push(push.keys.view(), push.gradients.view(), {.step = push.step, .versions = versions_}).status();
  }
  records_.filter().Record(push.origin, push.sequence, push.table, push.positions, push.keys.view(),
                           status.ok() ? Decision::kApplied : Decision::kRefused);
  if (!status.ok()) return Refuse(push, std::move(status), out);
  node_.counters().pushed_keys += push.keys.size();
  AcknowledgeOrReplicate(push, versions_, false, out);
}

// The rows contain the push: the origin may know once their backup has it too.
void RowNode::Duplicate(const Push& push, RowOutputs& out) {
  if (!shards_.any_guard() || node_.Mutant(RowMutation::kDuplicateAcknowledgedWithoutProbe)) {
    return node_.Send(
        push.origin,
        PushAck{.sequence = push.sequence, .map_version = {}, .positions = push.positions, .owner = node_.self()}, out);
  }
  std::vector<RowVersion> versions(push.keys.size());
  ReadVersions(*tables_.Rows(push.table), push.keys.view(), versions);
  AcknowledgeOrReplicate(push, versions, true, out);
}

void RowNode::AcknowledgeOrReplicate(const Push& push, std::span<const RowVersion> versions, bool probe,
                                     RowOutputs& out) {
  const uint64_t staleness = probe ? kNotMeasured : StalenessOf(push, versions);
  const auto acknowledge = [&](Positions positions, uint64_t measured) {
    node_.Send(push.origin,
               PushAck{.sequence = push.sequence,
                       .map_version = {},
                       .positions = std::move(positions),
                       .owner = node_.self(),
                       .staleness = measured},
               out);
  };
  if (!shards_.any_guard()) return acknowledge(push.positions, staleness);
  Groups<NodeId> groups;
  for (uint32_t i = 0; i < push.keys.size(); ++i) groups.Add(GuardOf(node_.ShardAt(push.keys[i])), i);
  const bool early = node_.Mutant(RowMutation::kAcknowledgeBeforeBackup);
  for (const auto& [guard, places] : groups) {
    const uint64_t measured =
        std::ranges::binary_search(places, push.seen_index) ? staleness : kNotMeasured;  // in one of the answers
    if (guard == NodeId() || early) acknowledge(PartOf(push.positions, places), measured);
    const auto replicate = [&](NodeId to, bool ack_wanted) {
      Replicate message{.origin = push.origin,
                        .sequence = push.sequence,
                        .table = push.table,
                        .map_version = {},
                        .acked_below = records_.filter().AckedBelow(push.origin)};
      message.positions = PartOf(push.positions, places);
      message.keys = PartOf(push.keys, places);
      message.gradients = PartOf(push.gradients, places, push.gradients.size() / push.keys.size());
      message.versions = Slice<RowVersion>::Filled(places.size(), [&](std::span<RowVersion> part) {
        for (size_t i = 0; i < places.size(); ++i) part[i] = versions[places[i]];
      });
      message.step = push.step;
      message.owner = node_.self();
      message.ack_wanted = ack_wanted;
      message.probe = probe;
      message.staleness = measured;
      node_.counters().replicated_keys += places.size();
      node_.Send(to, std::move(message), out);
    };
    if (guard != NodeId()) replicate(guard, !early);
    if (node_.Mutant(RowMutation::kDualWrite)) {
      const NodeId next = node_.ShardAt(push.keys[places.front()]).next_backup;
      if (next != NodeId() && next != node_.self() && next != guard) replicate(next, false);
    }
  }
}

// --- pulls

Status RowNode::Check(NodeId, const Pull& pull) const {
  const TableStore* store = tables_.Rows(pull.table);
  const size_t values = pull.keys.size() * (store == nullptr ? 1 : store->spec().options.dim);
  if (values <= kFloatsPerMessageMax) return OkStatus();
  return Error(StatusCode::kInvalidArgument, std::to_string(pull.keys.size()) + " keys with " + std::to_string(values) +
                                                 " values in one message; at most " +
                                                 std::to_string(kFloatsPerMessageMax) + " values are allowed");
}

void RowNode::Refuse(const Pull& pull, Status status, RowOutputs& out) {
  ++node_.counters().refused;
  node_.Send(pull.origin, PullRefused{.request = pull.request, .map_version = {}, .status = std::move(status)}, out);
}

void RowNode::On(NodeId from, Pull&& pull, MonotonicTime now, RowOutputs& out) {
  ++node_.counters().pulls;
  if (!node_.IsMember(pull.origin)) return;
  const NodeId origin = pull.origin;
  const bool settled_more = records_.filter().MergeAckedBelow(origin, pull.acked_below);
  if (Status status = Check(from, pull); !status.ok()) {
    Refuse(pull, std::move(status), out);
  } else {
    Dispatch(from, std::move(pull), now, out);
  }
  if (settled_more) RetryParked(origin, out);
}

void RowNode::Here(Pull&& pull, MonotonicTime now, RowOutputs& out) {
  if (!node_.IsMember(pull.origin)) return;
  if (tables_.Rows(pull.table) == nullptr) return Refuse(pull, NoSuchTable(pull.table), out);
  const MonotonicTime deadline = DeadlineAfter(pull.remaining, now);
  ParkedPull parked{.pull = std::move(pull), .deadline = deadline};
  if (OwnPushesContained(parked)) {
    Answer(parked.pull, out);
  } else {
    Park(std::move(parked), now, out);
  }
}

// What was decided stays decided while the rows are here, so the search continues where it stopped.
bool RowNode::OwnPushesContained(ParkedPull& parked) const {
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

void RowNode::Answer(const Pull& pull, RowOutputs& out) {
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
Slice<RowVersion> RowNode::VersionsOf(const Pull& pull, const TableStore& store) {
  const MeasuredPlaces measured(pull.table, pull.keys.view());
  std::array<Key, MeasuredPlaces::kMax> keys{};
  for (size_t i = 0; i < measured.count; ++i) keys[i] = pull.keys[measured.places[i]];
  return Slice<RowVersion>::Filled(measured.count, [&](std::span<RowVersion> versions) {
    ReadVersions(store, std::span(keys).first(measured.count), versions);
    if (node_.map().recoveries == 0) return;
    // A row lost in a recovery is reinitialized, later than what was seen.
    for (size_t i = 0; i < versions.size(); ++i) {
      if (versions[i] == RowVersion() && !store.Contains(keys[i])) versions[i] = RowVersion(node_.map().recoveries, 0);
    }
  });
}

void RowNode::Park(ParkedPull parked, MonotonicTime now, RowOutputs& out) {
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

void RowNode::RetryParked(NodeId origin, RowOutputs& out) {
  parked_.TakeIf(origin, [&](ParkedPull& parked) {
    if (!OwnPushesContained(parked)) return false;
    Answer(parked.pull, out);
    return true;
  });
}

// The home of these shards is elsewhere now: parked pulls of rows that no worker has pushed to look for the new one.
void RowNode::TakeParkedElsewhere(std::span<const uint32_t> shards, std::vector<Queued>& operations) {
  parked_.TakeIf([&](ParkedPull& parked) {
    const bool elsewhere = std::ranges::any_of(parked.pull.keys, [&](Key key) {
      return std::ranges::find(shards, node_.ShardOf(key)) != shards.end() &&
             !tables_.Rows(parked.pull.table)->Contains(key);
    });
    if (elsewhere) operations.push_back({.from = node_.self(), .message = std::move(parked.pull)});
    return elsewhere;
  });
}

// Rows have left for `to`: pulls that wait for pushes to them follow on the same link.
void RowNode::SendParkedAfter(TableId table, std::span<const Key> keys, NodeId to, MonotonicTime now, RowOutputs& out) {
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

void RowNode::Here(InstallWanted&& wanted, MonotonicTime, RowOutputs& out) {
  TableStore* store = tables_.Rows(wanted.table);
  if (store == nullptr) return;
  if (const Status status = store->CreateRows(wanted.keys.view(), RowVersion(node_.map().recoveries, 0)); !status.ok())
    return;
  Groups<NodeId> groups;
  for (uint32_t i = 0; i < wanted.keys.size(); ++i) {
    const Shard& shard = node_.ShardAt(wanted.keys[i]);
    if (shard.backup != NodeId() && shard.backup != node_.self()) groups.Add(shard.backup, i);
    if (shard.next_backup != NodeId() && shard.next_backup != node_.self()) groups.Add(shard.next_backup, i);
  }
  for (const auto& [to, places] : groups) SendInstalls(wanted.table, PartOf(wanted.keys, places).view(), to, out);
}

}  // namespace attune::ps
