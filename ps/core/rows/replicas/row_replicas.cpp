#include "ps/core/rows/replicas/row_replicas.h"

#include <algorithm>
#include <utility>

#include "ps/core/intent/path_price.h"
#include "ps/store/formulas/optimizer.h"

namespace attune::ps {
namespace {

using Decision = DuplicateFilter::Decision;

// One row that has to be waited for holds up a whole step, in which many others are there: a share of that time.
constexpr double kSecondsPerWait = 5e-6;

RowBytes BytesOf(const TableOptions& options) {
  return {.values = static_cast<uint32_t>(options.dim * sizeof(float)),
          .state = static_cast<uint32_t>(StateFloats(options.optimizer, options.dim) * sizeof(float))};
}

AccessCosts CostsOf(const Round& round) {
  return {.seconds_per_byte = std::max(PathPrice::kLeast, 1e-12 * static_cast<double>(round.picoseconds_per_byte)),
          .flushes_per_second = std::max(1.0, static_cast<double>(round.rounds_per_second)),
          .seconds_per_wait = kSecondsPerWait};
}

}  // namespace

// --- what changes

void RowReplicas::NoteChanged(const Push& push) {
  const NodeId except = push.folds.empty() ? NodeId() : push.origin;
  for (size_t i = 0; i < push.keys.size(); ++i) {
    interests_.PrefetchAhead(push.table, push.keys.view(), i);
    const TableKey row{push.table, push.keys[i]};
    interests_.Changed(row, except, [&](NodeId holder) { holders_[holder].changed.push_back(row); });
  }
}

void RowReplicas::TakeBack(TableId table, std::span<const Key> keys) {
  for (const Key key : keys) {
    const TableKey row{table, key};
    interests_.Collect(row, {}, collected_);
    for (RowInterest& interest : collected_) {
      if (interest.place == RowPlace::kReplicated) holders_[interest.node].left.push_back(row);
      interest.place = RowPlace::kLeft;
    }
    interests_.Place(row, collected_);
  }
}

void RowReplicas::AdoptMap(const ShardMap& old) {
  costs_.Retain([&](NodeId node) { return node_.IsMember(node); });
  const MapVersion since = RoutedSince(node_.map());
  if (since > old.version) {
    valid_since_ = since;
    interests_.Clear();
    holders_.clear();
    return;
  }
  if (interests_.empty() && holders_.empty()) return;
  std::erase_if(holders_, [&](const auto& holder) { return !node_.IsMember(holder.first); });
  interests_.Retain([&](TableKey, NodeId node) { return node_.IsMember(node); }, [](TableKey, NodeId) {});
}

// --- rounds

void RowReplicas::On(NodeId from, const Round& round, MonotonicTime now, RowOutputs& out) {
  if (round.map_version < valid_since_ && !node_.Mutant(RowMutation::kRoundOfOlderHomesTaken)) return;
  if (round.first) {
    interests_.Retain([&](TableKey, NodeId node) { return node != from; }, [](TableKey, NodeId) {});
    holders_.erase(from);
  }
  if (!round.keys.empty()) Announced(from, round, now);
  if (round.last) Answer(from, round.number, out);
}

std::map<TableId, TableInterests> RowReplicas::Survey(MonotonicTime now) const {
  const auto bytes_of = [&](TableId table) -> std::optional<RowBytes> {
    const TableStore* const store = tables_.Rows(table);
    return store == nullptr ? std::nullopt : std::optional(BytesOf(store->spec().options));
  };
  return SurveyInterests(interests_, bytes_of, costs_, now);
}

bool RowReplicas::IsHere(TableKey row) const {
  return shards_.IsActive(node_.ShardOf(row.key)) && !shards_.directory().Contains(row);
}

std::vector<bool> RowReplicas::Contained(NodeId from, const Round& round) const {
  std::vector<bool> contained(round.keys.size(), true);
  if (node_.Mutant(RowMutation::kCopyWithoutOpenPushes)) return contained;
  for (const After& after : round.after) {
    if (after.sequence <= records_.filter().AckedBelow(from)) continue;
    if (records_.filter().Find(from, after.sequence, after.position) == Decision::kOpen) {
      contained[after.key_index] = false;
    }
  }
  return contained;
}

void RowReplicas::Announced(NodeId from, const Round& round, MonotonicTime now) {
  TableStore* const store = tables_.Rows(round.table);
  if (store == nullptr) return;
  const RowBytes bytes = BytesOf(store->spec().options);
  costs_.Set(from, CostsOf(round));
  const std::vector<bool> contained = Contained(from, round);
  std::vector<Key> absent;
  for (size_t i = 0; i < round.keys.size(); ++i) {
    interests_.PrefetchAhead(round.table, round.keys.view(), i);
    const TableKey row{round.table, round.keys[i]};
    const AnnouncedUse& use = round.uses[i];
    if (!use.has_copy) interests_.HasNone(row, from);
    if (use.reads == 0 && use.writes == 0) {
      interests_.Withdraw(row, from);
      continue;
    }
    const InterestTable::Announcement announced{
        .use = {.reads = static_cast<double>(use.reads), .writes = static_cast<double>(use.writes)},
        .until = now + std::chrono::milliseconds(use.milliseconds)};
    if (!interests_.Announce(row, from, announced, now)) continue;
    Decide(from, row, contained[i] && IsHere(row), bytes, now);
    if (interests_.HasCopy(row, from) && !store->Contains(row.key)) absent.push_back(row.key);
  }
  // A copy is of a row that is there.
  if (absent.empty()) return;
  const Status status = store->CreateRows(absent, RowVersion(node_.map().recoveries, 0));
  if (!status.ok()) TakeBack(round.table, absent);
}

void RowReplicas::Decide(NodeId from, TableKey row, bool may_send, RowBytes bytes, MonotonicTime now) {
  interests_.Collect(row, now, collected_);
  std::vector<RowPlace> before;
  before.reserve(collected_.size());
  for (const RowInterest& interest : collected_) before.push_back(interest.place);
  DecideRow(collected_, bytes, {.may_replicate = true, .may_own = false}, costs_);
  bool is_new = false;
  for (size_t i = 0; i < collected_.size(); ++i) {
    RowInterest& interest = collected_[i];
    if (interest.place == before[i]) continue;
    if (before[i] == RowPlace::kReplicated) {
      holders_[interest.node].left.push_back(row);
    } else if (interest.node == from && may_send) {
      is_new = true;
    } else {  // what is open of another worker's pushes, it says with its own announcement
      interest.place = RowPlace::kLeft;
    }
  }
  interests_.Place(row, collected_);
  if (!is_new) return;
  interests_.Given(row, from);
  holders_[from].changed.push_back(row);
}

void RowReplicas::Answer(NodeId from, uint64_t number, RowOutputs& out) {
  Holder holder = std::exchange(holders_[from], {});
  std::map<TableId, std::vector<Key>> rows, left;
  for (const TableKey row : holder.changed) {
    switch (interests_.TakeRefresh(row, from)) {
      case InterestTable::Refresh::kNothing:
        break;
      case InterestTable::Refresh::kSend:
        rows[row.table].push_back(row.key);
        break;
      case InterestTable::Refresh::kOfNoUse:
        interests_.HasNone(row, from);
        interests_.Withdraw(row, from);
        holder.left.push_back(row);
    }
  }
  for (const TableKey row : holder.left) {
    if (interests_.HasCopy(row, from)) continue;  // was given to it again since
    left[row.table].push_back(row.key);
  }
  if (node_.Mutant(RowMutation::kCopyNotTakenBack)) left.clear();
  std::vector<RoundReply> pieces;
  for (const auto& [table, keys] : rows) AddRows(table, keys, pieces);
  for (const auto& [table, keys] : left) AddLeft(table, keys, pieces);
  if (pieces.empty()) pieces.emplace_back();
  pieces.back().last = true;
  for (RoundReply& piece : pieces) {
    piece.number = number;
    node_.Send(from, std::move(piece), out);
  }
}

void RowReplicas::AddRows(TableId table, std::span<const Key> keys, std::vector<RoundReply>& pieces) const {
  const TableStore& store = *tables_.Rows(table);
  const size_t chunk = tables_.RowsPerMessage(store);
  for (size_t at = 0; at < keys.size(); at += chunk) {
    RowBatch rows = tables_.Gather(store, table, keys.subspan(at, std::min(chunk, keys.size() - at)));
    pieces.push_back({.map_version = {},
                      .table = table,
                      .keys = std::move(rows.keys),
                      .versions = std::move(rows.versions),
                      .rows = std::move(rows.values)});
  }
}

void RowReplicas::AddLeft(TableId table, std::span<const Key> keys, std::vector<RoundReply>& pieces) {
  for (size_t at = 0; at < keys.size(); at += kKeysPerMessageMax) {
    const std::span<const Key> part = keys.subspan(at, std::min(kKeysPerMessageMax, keys.size() - at));
    pieces.push_back({.map_version = {}, .table = table, .left = {part.begin(), part.end()}});
  }
}

}  // namespace attune::ps
