// What the status says of the data plane: its coordinator, abilities, pace, recoveries and checkpoints.
#pragma once

#include "operator/controller/status/status.h"

namespace attune::controller {

void SetDataPlane(const Observed& observed, const ServersView& servers, const Progression& progression,
                  api::TrainingJobStatus& status);

}  // namespace attune::controller
