// What became of a Table::Localize.
#pragma once

#include <cstdint>

namespace attune::ps {

struct LocalizeResult {
  uint64_t moved = 0;         // rows that have come
  uint64_t already_here = 0;  // and that were here before
  uint64_t refused = 0;       // for which this worker has no memory: they stay where they are
  bool operator==(const LocalizeResult&) const = default;
};

}  // namespace attune::ps
