#include "operator/tuner/models/random/core_use.h"

#include <algorithm>
#include <cmath>

#include "operator/tuner/models/random/draws.h"

namespace attune::tuner {
namespace {

double Slowed(double cores) { return 1 / std::min(cores, 1.0); }

}  // namespace

CoreUse::CoreUse(Random& random, int most_millicores) {
  own_threads_ = DrawLogUniform(random, 1, std::max(2.0, 2e-3 * most_millicores));
  memory_bound_ = random.Chance(0.5) ? DrawUniform(random, 0, 0.6) : 0;
  messages_ = random.Uniform();
}

double CoreUse::Compute(double parallel, double threads, double cores) const {
  constexpr double kSharp = 6;  // of the bend where the quota begins to bind
  const double amdahl = 1 - parallel + parallel / std::max(threads, 0.5);
  const double bound = std::pow(std::pow(amdahl, kSharp) + std::pow(cores, -kSharp), 1 / kSharp);
  return memory_bound_ * Slowed(cores) + (1 - memory_bound_) * bound;
}

double CoreUse::Message(double cores) const { return 1 - messages_ + messages_ * Slowed(cores); }

}  // namespace attune::tuner
