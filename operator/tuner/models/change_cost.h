// What a change of setting costs, in seconds: time in which training stands still or crawls, and time until new pods
// run, during which the old setting continues.
#pragma once

#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// Seconds, >= 0. Of one change, whatever the number of pods: they start side by side.
struct ChangeCosts {
  double live = 0.2;      // a live knob or a resize: standstill
  double relocation = 3;  // rows move: training runs at about 40 % meanwhile
  double pods = 20;       // until new pods take part; the old setting continues
  double crash = 60;      // until a crashed job is back at its old setting
};

struct ChangeCost {
  double lost = 0;  // seconds of training lost outright
  double lead = 0;  // seconds at the old setting before the new one begins
};

ChangeCost CostOfChange(const SearchSpace& space, const ChangeCosts& costs, int from, int to);

}  // namespace attune::tuner
