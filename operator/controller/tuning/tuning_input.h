// What the tuner is shown of a job: figures out of an observation, and whether the job runs as the spec says.
#pragma once

#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/plan/workers.h"
#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {

// What the spec alone says: bounds, goal, and the setting that is wanted. The rest of the values are defaults.
TuningInput InputOfSpec(const api::TrainingJob& job);
TuningInput MakeTuningInput(const Observed& observed, const ServersView& servers, const WorkersView& workers, Now now);

// The job is one the tuner looks at: its mode is not Off, its manifest is right, it has not ended.
bool IsTuned(const Observed& observed);

}  // namespace attune::controller
