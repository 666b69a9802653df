// Sets of rows by the hash of their keys. A shard is one range (HashRange::OfShard), whatever the number of shards, so
// a server reads the blocks of its shards and skips the others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ps/store/table_store.h"

namespace attune::ps {

class HashRanges {
 public:
  // In any order; may touch or overlap.
  explicit HashRanges(std::vector<HashRange> ranges);
  static HashRanges All() { return HashRanges({HashRange{}}); }

  // Of whole hashes, 64 bits (row_file_format.h).
  bool Contains(uint64_t hash) const { return Intersects(hash, hash); }
  bool Intersects(uint64_t first, uint64_t last) const;  // both included

  bool operator==(const HashRanges&) const = default;
  size_t size() const { return ranges_.size(); }  // ranges, apart from each other

 private:
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;  // first and last hash; ascending
};

}  // namespace attune::ps
