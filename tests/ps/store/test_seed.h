// Random tests: the seed is printed first and taken from ATTUNE_TEST_SEED to replay a failure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace attune::ps {

inline uint64_t TestSeed(const char* parameters) {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu, %s (replay with ATTUNE_TEST_SEED=%llu)\n", static_cast<unsigned long long>(seed), parameters,
              static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace attune::ps
