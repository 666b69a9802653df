// Draws keys by a distribution over 0 .. n - 1: uniform, Zipf's law, or given weights. Each draw takes constant time.
// Pure; one object may be used by several threads, each with randomness of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "base/status.h"
#include "ps/types/key.h"
#include "ps/types/sampling.h"

namespace attune::ps {

class KeyDistribution {
 public:
  // InvalidArgument says which figure of `options` is not one: no keys at all, an exponent that is negative or not
  // finite, weights of which one is negative or not finite, or that are all zero.
  static StatusOr<std::unique_ptr<const KeyDistribution>> Create(const KeyDistributionOptions& options);
  virtual ~KeyDistribution() = default;

  virtual Key Draw(Random& random) const = 0;
};

}  // namespace attune::ps
