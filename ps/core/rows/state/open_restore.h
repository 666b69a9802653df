// Rows that a recovery has found no copy of, which come from a checkpoint, table by table: which tables have not come,
// which shards wait for them, and totals of what has been restored (docs/protocol.md#a-crash). Externally synchronized.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class OpenRestore {
 public:
  struct Totals {
    uint64_t shards = 0;
    uint64_t rows = 0;              // that came from the checkpoint
    uint64_t rows_begun_again = 0;  // known to have been there, and not in it
  };
  struct Ended {
    std::vector<uint32_t> shards;
    uint64_t rows_begun_again = 0;
  };

  // Rows known to have been there and not come from anywhere yet.
  void AddLost(TableKey row) { lost_[row] = 1; }
  template <typename Visitor>
  void ForEachLost(Visitor&& visit) const {
    lost_.ForEach([&](TableKey row, uint8_t) { visit(row); });
  }

  void Begin(std::vector<uint32_t> shards) {
    totals_.shards += shards.size();
    shards_ = std::move(shards);
  }
  void Order(TableId table) { missing_.insert(table); }
  // False: rows of this table are not waited for, or have come already.
  bool Take(TableId table) { return missing_.erase(table) > 0; }
  void Restored(TableKey row) {
    lost_.Erase(row);
    ++totals_.rows;
  }
  const std::vector<uint32_t>& shards() const { return shards_; }
  // All tables have come.
  bool complete() const { return missing_.empty(); }
  Ended End() {
    Ended ended{.shards = std::move(shards_), .rows_begun_again = lost_.size()};
    totals_.rows_begun_again += ended.rows_begun_again;
    Forget();
    return ended;
  }
  // Another recovery has begun: it restores whole shards.
  void Forget() {
    missing_.clear();
    shards_.clear();
    lost_ = {};
  }

  // Since the start.
  const Totals& totals() const { return totals_; }

 private:
  std::set<TableId> missing_;     // ordered and not come
  std::vector<uint32_t> shards_;  // that wait for them
  KeyMap<uint8_t> lost_;
  Totals totals_;
};

}  // namespace attune::ps
