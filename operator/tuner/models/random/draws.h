// Draws of random jobs.
#pragma once

#include <cmath>

#include "base/random.h"

namespace attune::tuner {

inline double DrawLogUniform(Random& random, double low, double high) {
  return low * std::pow(high / low, random.Uniform());
}
inline double DrawUniform(Random& random, double low, double high) { return low + (high - low) * random.Uniform(); }

}  // namespace attune::tuner
