// Knobs of which no model of a parameter server says anything: a random smooth dependence with an optimum somewhere. A
// plain value.
#pragma once

#include <vector>

#include "base/random.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

class UnknownKnobs {
 public:
  UnknownKnobs(const SearchSpace& space, Random& random);

  // Added to the log of the seconds per update; exactly `log_seconds` in a space without such knobs.
  double AddTo(double log_seconds, const SearchSpace& space, int setting) const;

 private:
  std::vector<double> curvature_, optimum_;  // of each knob; curvature 0: it is modeled
};

}  // namespace attune::tuner
