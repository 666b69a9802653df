// Normal distribution, and expectations of a log-normal speed-up.
#pragma once

#include <cmath>

namespace attune::tuner {

inline double NormalCdf(double z) { return 0.5 * std::erfc(-z * M_SQRT1_2); }

// D ~ N(mean, deviation^2) is a log gain in speed. E[max(0, 1 - exp(-D))]: expected share of time saved when the gain
// is taken only if it is one.
inline double ExpectedSaving(double mean, double deviation) {
  if (deviation < 1e-9) return mean > 0 ? 1 - std::exp(-mean) : 0;
  const double variance = deviation * deviation;
  const double saving =
      NormalCdf(mean / deviation) - std::exp(variance / 2 - mean) * NormalCdf((mean - variance) / deviation);
  return saving > 0 ? saving : 0;
}

}  // namespace attune::tuner
