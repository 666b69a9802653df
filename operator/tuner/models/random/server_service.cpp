#include "operator/tuner/models/random/server_service.h"

#include <algorithm>

#include "operator/tuner/models/random/draws.h"

namespace attune::tuner {

ServerService::ServerService(Random& random) : service_(DrawLogUniform(random, 0.01, 2)) {}

double ServerService::Seconds(double servers, double cores, double crowd) const {
  const double slowed = use_ ? use_->Compute(1, use_->own_threads(), cores) * use_->own_threads() : 1;
  return service_ * slowed / servers * crowd;
}

Overload::Overload(Random& random, int most_workers)
    : at_(random.Chance(0.3) ? DrawLogUniform(random, 0.5, std::max(1.0, static_cast<double>(most_workers))) : 1e9),
      slowdown_(DrawUniform(random, 0.2, 2)) {}

double Overload::Factor(double servers, double workers) const {
  return 1 + slowdown_ * std::max(0.0, workers / servers / at_ - 1);
}

}  // namespace attune::tuner
