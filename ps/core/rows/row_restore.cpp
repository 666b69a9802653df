// Rows that a crash has left no copy of (docs/protocol.md#a-crash): their homes take them from the last checkpoint, in
// the era of the recovery, so that no reader sees a version fall. Rows alive anywhere else stay as they are: what is
// held, or reported by its owner, is newer than the checkpoint. Operations on these shards wait at the home meanwhile.
#include <algorithm>
#include <utility>

#include "ps/core/rows/row_node.h"

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;
using Decision = DuplicateFilter::Decision;

}  // namespace

void RowNode::BeginRestore(const std::vector<uint32_t>& shards, MonotonicTime now, RowOutputs& out) {
  restore_.shards = shards;
  shards_restored_ += shards.size();
  shards_.BeginRestore(shards);
  std::vector<ShardId> ids;
  for (const uint32_t shard : shards) ids.push_back(ShardId(shard));
  RowTables::ForEach(tables_.rows(), [&](TableId table, const TableStore&) {
    if (restore_point_.checkpoint == 0) return;
    restore_.missing.insert(table);
    out.restore.push_back(
        {.point = restore_point_, .recovered_at = node_.map().recovered_at, .table = table, .shards = ids});
  });
  if (restore_.missing.empty()) EndRestore(now, out);
}

void RowNode::Restore(const RestoreOrder& order, const TableStore* rows, const FilterRecords& filter, MonotonicTime now,
                      RowOutputs& out) {
  if (order.recovered_at != node_.map().recovered_at || restore_.missing.erase(order.table) == 0) return;
  std::vector<bool> wanted(shards_.size());
  for (const uint32_t shard : restore_.shards) wanted[shard] = true;
  const TableStore& store = *tables_.Rows(order.table);
  std::vector<Key> keys;
  if (rows != nullptr) {
    rows->ForEachKey(HashRange{}, [&](Key key) {
      if (wanted[node_.ShardOf(key)] && !store.Contains(key) && !shards_.directory().Contains({order.table, key}))
        keys.push_back(key);
    });
  }
  KeyMap<uint8_t> taken;
  for (size_t at = 0; at < keys.size(); at += node_.options().rows_per_message_max) {
    const auto part = std::span(keys).subspan(at, std::min(node_.options().rows_per_message_max, keys.size() - at));
    std::vector<RowView> views;
    rows->VisitRows(part, [&](const RowView& row) {
      views.push_back(row);
      views.back().version = RowVersion(node_.map().recoveries, row.version.counter());
      views.back().move_number = 0;
      taken[{order.table, row.key}] = 1;
      restore_.lost.Erase({order.table, row.key});
    });
    TakeRestored(order.table, views, out);
  }
  LearnRestored(order.table, filter, taken);
  rows_restored_ += keys.size();
  out.rows_restored += keys.size();
  if (restore_.missing.empty()) EndRestore(now, out);
}

void RowNode::TakeRestored(TableId table, const std::vector<RowView>& rows, RowOutputs& out) {
  if (Status status = tables_.Rows(table)->Insert(rows); !status.ok()) {
    return node_.Lose(Annotate(status, "restoring rows from " + restore_point_.directory), out);
  }
  std::vector<Key> keys;
  for (const RowView& row : rows) keys.push_back(row.key);
  installs_.CopyArrived(table, keys, 0, out);
}

// Workers issue again what was not acknowledged; the rows may contain it.
void RowNode::LearnRestored(TableId table, const FilterRecords& filter, const KeyMap<uint8_t>& taken) {
  for (const FilterRecords::Push& push : filter.pushes) {
    const NodeId origin(push.origin);
    if (push.table != table.value() || !node_.IsMember(origin)) continue;
    for (size_t i = 0; i < push.keys.size(); ++i) {
      if (!taken.Contains({table, push.keys[i]})) continue;
      const SequenceNumber sequence(push.sequence);
      if (records_.filter().Find(origin, sequence, push.positions[i]) != Decision::kOpen) continue;
      records_.filter().Record(origin, sequence, table, {.first = push.positions[i], .count = 1, .list = {}},
                               {&push.keys[i], 1}, push.refused ? Decision::kRefused : Decision::kApplied, Held::kRow);
    }
  }
}

void RowNode::EndRestore(MonotonicTime now, RowOutputs& out) {
  const uint64_t again = restore_.lost.size();
  rows_begun_anew_ += again;
  out.rows_begun_anew += again;
  const std::vector<uint32_t> shards = std::move(restore_.shards);
  restore_ = {};
  Activate(shards, now, out);
}

}  // namespace attune::ps
