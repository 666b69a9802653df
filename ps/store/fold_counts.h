// How many pushes one change of a row stands for (ps/store/fold.h). A value.
#pragma once

#include <cstdint>

namespace attune::ps {

struct FoldCounts {
  uint32_t pushes = 0;   // the version's counter rises by them
  uint32_t updates = 0;  // those that changed the row: a gradient that is not finite may be skipped
  bool operator==(const FoldCounts&) const = default;
};

}  // namespace attune::ps
