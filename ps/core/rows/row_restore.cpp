#include "ps/core/rows/row_restore.h"

#include <algorithm>
#include <span>
#include <string>

namespace attune::ps {
namespace {

using Held = DuplicateFilter::Held;
using Decision = DuplicateFilter::Decision;

}  // namespace

std::vector<bool> RowRestore::ShardsWithLostRows() const {
  std::vector<bool> has_lost(shards_.size());
  open_.ForEachLost([&](TableKey row) { has_lost[node_.ShardOf(row.key)] = true; });
  return has_lost;
}

void RowRestore::Begin(const std::vector<uint32_t>& shards, RowOutputs& out) {
  open_.Begin(shards);
  shards_.BeginRestore(shards);
  if (point_.checkpoint == 0) return;
  std::vector<ShardId> ids;
  for (const uint32_t shard : shards) ids.push_back(ShardId(shard));
  RowTables::ForEach(tables_.rows(), [&](TableId table, const TableStore&) {
    open_.Order(table);
    out.restore.push_back({.point = point_, .recovered_at = node_.map().recovered_at, .table = table, .shards = ids});
  });
}

bool RowRestore::Take(const RestoreOrder& order, const TableStore* rows, const FilterRecords& filter, RowOutputs& out) {
  if (order.recovered_at != node_.map().recovered_at || !open_.Take(order.table)) return false;
  std::vector<bool> wanted(shards_.size());
  for (const uint32_t shard : open_.shards()) wanted[shard] = true;
  const TableStore& store = *tables_.Rows(order.table);
  std::vector<Key> keys;
  if (rows != nullptr) {
    rows->ForEachKey(HashRange{}, [&](Key key) {
      const bool lives = store.Contains(key) || shards_.directory().Contains({order.table, key});
      if (wanted[node_.ShardOf(key)] && !lives) keys.push_back(key);
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
    });
    for (const Key key : part) open_.Restored({order.table, key});
    Insert(order.table, views, out);
  }
  Learn(order.table, filter, taken);
  out.rows_restored += keys.size();
  return true;
}

void RowRestore::Insert(TableId table, const std::vector<RowView>& rows, RowOutputs& out) {
  if (Status status = tables_.Rows(table)->Insert(rows); !status.ok()) {
    return node_.Lose(Annotate(status, "restoring rows from " + point_.directory), out);
  }
  std::vector<Key> keys;
  for (const RowView& row : rows) keys.push_back(row.key);
  installs_.CopyArrived(table, keys, 0, out);
}

// Workers issue again what was not acknowledged; the rows may contain it.
void RowRestore::Learn(TableId table, const FilterRecords& filter, const KeyMap<uint8_t>& taken) {
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

std::vector<uint32_t> RowRestore::End(RowOutputs& out) {
  OpenRestore::Ended ended = open_.End();
  out.rows_begun_anew += ended.rows_begun_again;
  return std::move(ended.shards);
}

}  // namespace attune::ps
