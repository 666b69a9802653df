// A setting to move to and what it is expected to be worth, as the parts of a decision pass it on. A plain value.
#pragma once

#include "operator/tuner/records/decision_record.h"

namespace attune::tuner {

struct Proposal {
  int setting = -1;
  double value = 0, saving = 0, cost = 0;
  Gain gain;
};

inline constexpr double kCaution = 1.5;  // seconds of cost count this much against seconds of gain

}  // namespace attune::tuner
