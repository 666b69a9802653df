// What a program says about keys that it draws at random (Table::OpenSampler), as values.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace attune::ps {

// Each of the keys 0 .. keys - 1 is as likely as any other.
struct UniformKeys {
  uint64_t keys = 0;
  bool operator==(const UniformKeys&) const = default;
};
// Key k of 0 .. keys - 1 in proportion to (k + 1) ^ -exponent: Zipf's law, with key 0 the most frequent one.
struct ZipfKeys {
  uint64_t keys = 0;
  double exponent = 1;
  bool operator==(const ZipfKeys&) const = default;
};
// Key k in proportion to weights[k]. Takes 12 bytes a key.
struct WeightedKeys {
  std::vector<double> weights;
  bool operator==(const WeightedKeys&) const = default;
};
using KeyDistributionOptions = std::variant<UniformKeys, ZipfKeys, WeightedKeys>;

// How a sampler may depart from independent draws so that fewer rows have to come from elsewhere.
enum class SamplingMode : uint8_t {
  // Every draw is independent of all others: exact.
  kIndependent,
  // 256 keys are drawn, and each is handed out 16 times, in random order, before another 256 are drawn. Every single
  // draw has the distribution; draws that are near to each other are dependent.
  kPool,
  // The distribution restricted to rows that this process can read at once, while those are more than half of it; else
  // as kIndependent. SamplingReport says how far that is from the distribution.
  kLocal,
};

struct SamplerOptions {
  KeyDistributionOptions distribution;
  SamplingMode mode = SamplingMode::kIndependent;
  uint64_t seed = 0;  // workers with the same one draw the same keys (kLocal: the same candidates)
};

// What a sampler has done so far.
struct SamplingReport {
  uint64_t drawn = 0;       // keys
  uint64_t restricted = 0;  // of these, by the distribution restricted to rows at hand
  // The share of the distribution that could be read at once, of the last thousand candidates or so. kLocal only; 0
  // before the first hundred.
  double here = 0;
  // Between the distribution and the mean one of all draws: half the sum of the absolute differences. A restricted draw
  // with a share p at hand is 1 - p away (the restricted distribution is 1 / p times the other where that share lies,
  // and nothing elsewhere).
  double total_variation = 0;
};

}  // namespace attune::ps
