#include "ps/checkpoint/hash_ranges.h"

#include <algorithm>

namespace attune::ps {
namespace {

// The first hash of a shard: the smallest h with (h >> 32) * shard_count >> 32 == shard.
uint64_t FirstHash(uint64_t shard, uint64_t shard_count) {
  const uint64_t upper = ((shard << 32) + shard_count - 1) / shard_count;
  return upper << 32;
}

}  // namespace

HashRange RangeOfShard(uint32_t shard, uint32_t shard_count) {
  const uint64_t last = shard + 1 == shard_count ? UINT64_MAX : FirstHash(uint64_t{shard} + 1, shard_count) - 1;
  return {.first = FirstHash(shard, shard_count), .last = last};
}

HashRanges::HashRanges(std::vector<HashRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const HashRange& a, const HashRange& b) { return a.first < b.first; });
  for (const HashRange& range : ranges) {
    const bool touches = !ranges_.empty() &&
                         (range.first <= ranges_.back().last || range.first == ranges_.back().last + 1);
    if (!touches) {
      ranges_.push_back(range);
    } else {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    }
  }
}

bool HashRanges::Intersects(uint64_t first, uint64_t last) const {
  const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                   [](const HashRange& range, uint64_t value) { return range.last < value; });
  return it != ranges_.end() && it->first <= last;
}

}  // namespace attune::ps
