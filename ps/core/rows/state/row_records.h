// The filter of duplicate pushes of a node, and how its records travel with rows to other nodes. Externally
// synchronized.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/state/duplicate_filter.h"

namespace attune::ps {

class RowRecords {
 public:
  using Held = DuplicateFilter::Held;

  DuplicateFilter& filter() { return filter_; }
  const DuplicateFilter& filter() const { return filter_; }

  // What travels with these rows: their records, which are forgotten here with `take`, and what has been settled since
  // the last records to this node.
  Records Of(TableId table, std::span<const Key> keys, Held held, bool take, NodeId to);
  // What others have settled. Nodes that are no members send nothing that this or Add could be about.
  void Learn(const Records& records, const ShardMap& map);
  void Add(TableId table, std::span<const Key> keys, std::span<const FilterRecord> records, Held held,
           const ShardMap& map);
  // All that is about nodes that are no members.
  void ForgetRemoved(const ShardMap& map);

 private:
  DuplicateFilter filter_;
  std::map<NodeId, uint64_t> news_sent_;  // generation of the filter, by peer
};

}  // namespace attune::ps
