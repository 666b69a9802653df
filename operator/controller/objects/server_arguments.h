// The command line of attune-server in a pod, as a function of the job: what every server needs, and goal, data and
// the place to begin, which only the one that starts as coordinator needs.
#pragma once

#include "operator/api/training_job.h"
#include "operator/controller/observe/names.h"

namespace attune::controller {

// `servers`: that the job begins with.
kube::Json ServerArguments(const api::TrainingJob& job, int32_t index, int32_t servers);

}  // namespace attune::controller
