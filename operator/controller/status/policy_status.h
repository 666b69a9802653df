// What the status of a job says of the policies in force.
#pragma once

#include "operator/controller/observe/observed.h"

namespace attune::controller {

// The names and the mode, and the condition PolicyConflict while policies leave nothing somewhere.
void SetPolicy(const Observed& observed, api::TrainingJobStatus& status, Now now);

}  // namespace attune::controller
