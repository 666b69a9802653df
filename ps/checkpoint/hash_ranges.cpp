#include "ps/checkpoint/hash_ranges.h"

#include <algorithm>

namespace attune::ps {

HashRanges::HashRanges(std::vector<HashRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const HashRange& a, const HashRange& b) { return a.first < b.first; });
  for (const HashRange& range : ranges) {
    const uint64_t first = uint64_t{range.first} << 32;
    const uint64_t last = (uint64_t{range.last} << 32) | UINT32_MAX;
    if (!ranges_.empty() && (ranges_.back().second == UINT64_MAX || first <= ranges_.back().second + 1)) {
      ranges_.back().second = std::max(ranges_.back().second, last);
    } else {
      ranges_.emplace_back(first, last);
    }
  }
}

bool HashRanges::Intersects(uint64_t first, uint64_t last) const {
  const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                   [](const auto& range, uint64_t value) { return range.second < value; });
  return it != ranges_.end() && it->first <= last;
}

}  // namespace attune::ps
