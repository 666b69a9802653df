// The condition Reconfiguring: what of the job is being changed, or why a change that the spec asks for is not made.
#pragma once

#include "operator/controller/status/status.h"

namespace attune::controller {

void SetReconfiguring(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                      const Progression& progression, api::TrainingJobStatus& status, Now now);

}  // namespace attune::controller
