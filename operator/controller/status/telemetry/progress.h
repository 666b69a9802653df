// Progress of a job for its status, from telemetry and goal.
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Empty until the coordinator or a worker has reported; the last known one stays in the status then.
std::optional<api::Progress> MakeProgress(const Observed& observed, Now now);

}  // namespace attune::controller
