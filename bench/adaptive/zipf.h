// Ranks by Zipf's law, as in bench/load: by inverting the integral of the density.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/random.h"

namespace attune::adaptive_bench {

// Of `count` ranks from 0 on; exponent 0: all are equally likely.
inline uint64_t DrawRank(Random& random, uint64_t count, double exponent) {
  if (exponent == 0) return random.Below(count);
  const double power = 1 - exponent, end = std::pow(static_cast<double>(count) + 1, power);
  const double rank = std::pow(1 + random.Uniform() * (end - 1), 1 / power);
  return std::min(count - 1, static_cast<uint64_t>(rank) - 1);
}

}  // namespace attune::adaptive_bench
