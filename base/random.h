// Seeded randomness with the same sequence on every platform (the standard distributions differ between libraries).
// xoshiro256** by Blackman and Vigna, seeded through splitmix64. Not for secrets.
#pragma once

#include <array>
#include <cstdint>

namespace attune {

// One step of splitmix64: also a good 64-bit mixer for hashing keys.
constexpr uint64_t SplitMix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  // Uniform in [0, bound), without modulo bias worth mentioning (multiply-shift). `bound` > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [low, high], both included.
  int64_t Between(int64_t low, int64_t high);
  // Uniform in [0, 1).
  double Uniform();
  float UniformFloat();
  // Standard normal (polar method).
  double Normal();
  // True with this probability.
  bool Chance(double probability) { return Uniform() < probability; }

 private:
  std::array<uint64_t, 4> state_;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace attune
