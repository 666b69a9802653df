// The last rung of a new size (docs/steering.md): no machine has room for it, neither the pod's own nor another, and
// all pods of the job would fit if they were placed again. Then the job is restarted from a checkpoint, if
// spec.runPolicy.restartToResize lets it. Pure.
#pragma once

#include <chrono>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// For the same lack of room not again before this time: what was in the way may last.
inline constexpr Duration kRestartRetry = std::chrono::minutes(30);

// Asks for the restart of a job that trains with all of its pods, as a user would. Not in the modes in which it is the
// tuner that answers a size without room (members/resize_moves.h).
void RestartToResize(const Observed& observed, const PlanOptions& options, Now now, Draft& draft);

}  // namespace attune::controller
