// The workers of a job as seats (membership.h): who has been asked to leave, who moves, who stands in, who is slow.
#pragma once

#include "operator/controller/members/membership.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

Membership MembersOfWorkers(const Observed& observed, const PlanOptions& options, Now now);

}  // namespace attune::controller
