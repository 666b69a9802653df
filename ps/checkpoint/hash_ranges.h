// Sets of rows by the hash of their keys (row_file_format.h). A shard is one range, whatever the number of shards, so a
// server reads the blocks of its shards and skips the others.
#pragma once

#include <cstdint>
#include <vector>

namespace attune::ps {

struct HashRange {
  uint64_t first = 0, last = UINT64_MAX;  // both included
  bool operator==(const HashRange&) const = default;
};

// The hashes of one of `shard_count` shards, as ShardMap::ShardIndex assigns keys to them.
HashRange RangeOfShard(uint32_t shard, uint32_t shard_count);

class HashRanges {
 public:
  // In any order; may touch or overlap.
  explicit HashRanges(std::vector<HashRange> ranges);
  static HashRanges All() { return HashRanges({HashRange{}}); }

  bool Contains(uint64_t hash) const { return Intersects(hash, hash); }
  bool Intersects(uint64_t first, uint64_t last) const;
  const std::vector<HashRange>& ranges() const { return ranges_; }

 private:
  std::vector<HashRange> ranges_;  // ascending, apart from each other
};

}  // namespace attune::ps
