#include "operator/tuner/models/random/stragglers.h"

#include <algorithm>
#include <cmath>

#include "operator/tuner/models/random/draws.h"
#include "operator/tuner/space/knob.h"

namespace attune::tuner {

ChanceDelays::ChanceDelays(Random& random) : straggle_(DrawUniform(random, 0, 0.35)) {}

double ChanceDelays::Cycle(double cycle, double workers, int slack) const {
  if (slack < kSlackAsync) cycle *= 1 + straggle_ * std::sqrt(2 * std::log(workers)) / (1 + slack);
  return cycle;
}

SlowWorkers::SlowWorkers(Random& random, int most_workers)
    : from_(random.Chance(0.3) ? static_cast<int>(random.Between(2, std::max(2, most_workers))) : most_workers + 1),
      slowness_(DrawUniform(random, 1.5, 5)) {}

SlowWorkers::Pace SlowWorkers::PaceOf(double cycle, double workers, int slack) const {
  if (workers < from_) return {cycle, workers};
  if (slack < kSlackAsync) return {cycle * slowness_, workers};
  return {cycle, from_ - 1 + (workers - from_ + 1) / slowness_};
}

}  // namespace attune::tuner
