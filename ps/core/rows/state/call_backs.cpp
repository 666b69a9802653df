#include "ps/core/rows/state/call_backs.h"

namespace attune::ps {

void CallBacks::Plan(const ShardStates& shards, const ShardMap& map, NodeId self, Rules rules) {
  planned_.clear();
  shards.directory().ForEach([&](TableKey row, const RowDirectory::Entry& entry) {
    const uint32_t index = ShardMap::ShardIndex(row.key, shards.size());
    if (entry.owner == self || !shards.IsActive(index)) return;
    const Member* member = map.Find(entry.owner);
    if (member == nullptr) return;
    const bool is_next = map.shards[index].next_backup == entry.owner && rules.from_next_backups;
    if (is_next || member->leaving || (rules.from_servers && member->role == Role::kServer)) planned_.push_back(row);
  });
}

CallBacks::Batch CallBacks::Take(const ShardStates& shards, NodeId self, size_t rows_max) {
  Batch batch{.table = planned_.front().table, .keys = {}};
  while (!planned_.empty() && planned_.front().table == batch.table && batch.keys.size() < rows_max) {
    const TableKey row = planned_.front();
    planned_.pop_front();
    const RowDirectory::Entry* entry = shards.directory().Find(row);
    const bool is_active = shards.IsActive(ShardMap::ShardIndex(row.key, shards.size()));
    if (entry == nullptr || entry->owner == self || !is_active) continue;
    batch.keys.push_back(row.key);
  }
  return batch;
}

}  // namespace attune::ps
