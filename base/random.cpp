#include "base/random.h"

#include <cmath>

#include "base/check.h"

namespace attune {
namespace {
uint64_t RotateLeft(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
}  // namespace

Random::Random(uint64_t seed) {
  for (auto& word : state_) {
    word = SplitMix64(seed);
    seed += 0x9E3779B97F4A7C15ULL;
  }
}

uint64_t Random::Next() {
  const uint64_t result = RotateLeft(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = RotateLeft(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {
  ATTUNE_CHECK(bound > 0);
  return static_cast<uint64_t>((static_cast<__uint128_t>(Next()) * bound) >> 64);
}

int64_t Random::Between(int64_t low, int64_t high) {
  ATTUNE_CHECK(low <= high);
  return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
float Random::UniformFloat() { return static_cast<float>(Next() >> 40) * 0x1.0p-24F; }

double Random::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  double u = 0, v = 0, s = 0;
  do {
    u = 2 * Uniform() - 1;
    v = 2 * Uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double factor = std::sqrt(-2 * std::log(s) / s);
  spare_normal_ = v * factor;
  has_spare_ = true;
  return u * factor;
}

}  // namespace attune
