// Which of too many workers goes: the slowest, or one on a machine that is full. By what they report and what machines
// have left; without either all are alike.
#pragma once

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// For Seat::dispensable (membership.h). Above 1: the worker's rate is lower than the median of all by more than a
// third, by so much; 0.5: its machine has no room for another one like it, while that of another worker has; 0: neither
// is known.
double DispensableBy(const Observed& observed, const ObservedPod& worker, const PlanOptions& options, Now now);

}  // namespace attune::controller
