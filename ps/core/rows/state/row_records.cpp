#include "ps/core/rows/state/row_records.h"

#include <algorithm>
#include <vector>

namespace attune::ps {

Records RowRecords::Of(TableId table, std::span<const Key> keys, Held held, bool take, NodeId to) {
  Records records;
  filter_.Collect(table, keys, held, take, records.records);
  filter_.NewsSince(news_sent_[to], records.settled);
  return records;
}

void RowRecords::Learn(const Records& records, const ShardMap& map) {
  for (const Settled& settled : records.settled) {
    if (map.Contains(settled.origin)) filter_.MergeAckedBelow(settled.origin, settled.acked_below);
  }
}

void RowRecords::Add(TableId table, std::span<const Key> keys, std::span<const FilterRecord> records, Held held,
                     const ShardMap& map) {
  const auto gone = [&](const FilterRecord& record) { return !map.Contains(record.origin); };
  if (std::ranges::none_of(records, gone)) return filter_.Add(table, keys, records, held);
  std::vector<FilterRecord> of_members(records.begin(), records.end());
  std::erase_if(of_members, gone);
  filter_.Add(table, keys, of_members, held);
}

void RowRecords::ForgetRemoved(const ShardMap& map) {
  filter_.ForgetIf([&](NodeId origin) { return !map.Contains(origin); });
  std::erase_if(news_sent_, [&](const auto& entry) { return !map.Contains(entry.first); });
}

}  // namespace attune::ps
