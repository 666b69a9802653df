// What the status says of the job's tuner.
#pragma once

#include "operator/api/training_job.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

void SetTuning(const Observed& observed, api::TrainingJobStatus& status, Now now);

}  // namespace attune::controller
