// Which node was last seen owning a row, for rows that do not lie at their home (docs/protocol.md#one-pull: own table,
// else this, else the home). Bounded: two places per bucket, the older entry of a full bucket makes room. An entry may
// be wrong at any time; a node that gets an operation for a row it does not have sends it on.
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/ids.h"
#include "ps/types/key.h"

namespace attune::ps {

class LocationCache {
 public:
  // `entries_max` is rounded up to a power of two, at least 2. No memory is taken before the first Put.
  explicit LocationCache(size_t entries_max);

  // 0: not known.
  NodeId Find(TableId table, Key key) const;
  void Put(TableId table, Key key, NodeId owner);
  void Erase(TableId table, Key key);
  void ForgetNode(NodeId owner);

  bool empty() const { return used_ == 0; }
  size_t size() const { return used_; }
  size_t entries_max() const { return buckets_ * 2; }

 private:
  struct Entry {
    Key key = 0;
    uint32_t table = 0;  // 0: free
    NodeId owner;
  };
  struct Bucket {
    Entry entries[2];  // the newer first
  };
  size_t BucketOf(TableId table, Key key) const {
    return SplitMix64(key ^ (uint64_t{table.value()} << 40)) & (buckets_ - 1);
  }

  size_t buckets_;
  size_t used_ = 0;
  std::vector<Bucket> table_;
};

}  // namespace attune::ps
