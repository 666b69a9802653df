// Whether a job that trains does so with less than it was promised: one condition for alerts and for people, from what
// the other conditions say in detail.
#pragma once

#include "operator/controller/observe/observed.h"

namespace attune::controller {

inline constexpr char kDegraded[] = "Degraded";

// After the other conditions of `status`. Absent before training has begun; a change that was asked for is no
// degradation.
void SetDegraded(const Observed& observed, api::TrainingJobStatus& status, Now now);

}  // namespace attune::controller
