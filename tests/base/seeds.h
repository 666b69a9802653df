// The seeds of a random search: freshly drawn, so that no range becomes a training set, and printed, so that each can
// be replayed by ATTUNE_SEED=<seed>.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include "base/os/random_seed.h"

namespace attune {

// Runs `search` with `count` seeds, or with the one given, until one fails.
inline void ForSeeds(uint64_t count, const std::function<void(uint64_t seed)>& search) {
  const char* given = std::getenv("ATTUNE_SEED");
  const uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : RandomSeed() >> 1;
  if (given != nullptr) count = 1;
  std::cout << "seeds " << first << " .. " << first + count - 1 << "; replay one with ATTUNE_SEED=<seed>\n";
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("replay with ATTUNE_SEED=" + std::to_string(seed));
    search(seed);
  }
}

}  // namespace attune
