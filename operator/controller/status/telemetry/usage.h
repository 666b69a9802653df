// What the pods of a role use of what they have, for the job's status, from telemetry.
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Over the pods that report; nothing when none does.
std::optional<api::RoleUsage> UsageOf(const Observed& observed, RoleName role, Now now);

}  // namespace attune::controller
