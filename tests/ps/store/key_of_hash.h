// The key that has a given hash, so that tests choose where in the index a key goes.
#pragma once

#include <cstdint>

#include "ps/types/key.h"

namespace attune::ps {

// SplitMix64 undone.
inline Key KeyOfHash(uint64_t hash) {
  const auto unshift = [](uint64_t x, int shift) {
    for (uint64_t y = x >> shift; y != 0; y >>= shift) x ^= y;
    return x;
  };
  uint64_t x = unshift(hash, 31);
  x *= 0x319642B2D24D8EC3ULL;  // inverse of 0x94D049BB133111EB
  x = unshift(x, 27);
  x *= 0x96DE1B173F119089ULL;  // inverse of 0xBF58476D1CE4E5B9
  x = unshift(x, 30);
  return x - 0x9E3779B97F4A7C15ULL;
}

}  // namespace attune::ps
