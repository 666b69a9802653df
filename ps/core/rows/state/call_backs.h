// Rows that a shard's home calls back from nodes that should not own them: nodes that leave, nodes that are about to
// become the shard's backup, and other servers when RowOptions says so. At most a bounded number is on its way home at
// a time. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {

class CallBacks {
 public:
  struct Rules {
    bool from_servers = true;
    bool from_next_backups = true;  // false: a deliberate mistake of the simulations
  };

  // Plans to call back the rows of shards whose home is here and ready under this map. Replaces the last plan.
  void Plan(const ShardStates& shards, const ShardMap& map, NodeId self, Rules rules);
  void Clear() { planned_.clear(); }
  size_t planned() const { return planned_.size(); }

  struct Batch {
    TableId table;
    std::vector<Key> keys;
  };
  // The next rows of one table to call back, at most `rows_max`. `in_flight_max(TableId)`: how many may be on their way
  // home before rows of this table are called. Nothing when no more may be called now.
  template <typename InFlightMax>
  std::optional<Batch> Next(const ShardStates& shards, NodeId self, size_t rows_max, InFlightMax&& in_flight_max) {
    while (!planned_.empty()) {
      const TableId table = planned_.front().table;
      const size_t called_back_max = in_flight_max(table);
      if (shards.directory().called_back() >= called_back_max) return std::nullopt;
      Batch batch = Take(shards, self, std::min(called_back_max - shards.directory().called_back(), rows_max));
      if (!batch.keys.empty()) return batch;
    }
    return std::nullopt;
  }

 private:
  // The first planned rows of one table. Rows that have moved since they were planned are dropped.
  Batch Take(const ShardStates& shards, NodeId self, size_t rows_max);

  std::deque<TableKey> planned_;
};

}  // namespace attune::ps
