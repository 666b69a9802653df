#include "operator/tuner/models/random/fixed_times.h"

#include "operator/tuner/models/random/draws.h"

namespace attune::tuner {

FixedTimes::FixedTimes(Random& random, int most_workers)
    : link_(random.Chance(0.25) ? DrawLogUniform(random, 1.0 / (4 * most_workers), 0.5) : 0),
      constant_(DrawLogUniform(random, 0.0005, 0.1)),
      per_worker_(DrawLogUniform(random, 1e-5, 0.01) * (random.Chance(0.6) ? 1 : 0)),
      per_pair_(DrawLogUniform(random, 1e-5, 0.003) * (random.Chance(0.6) ? 1 : 0)) {}

}  // namespace attune::tuner
