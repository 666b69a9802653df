// What the status of policies is to say of the jobs that run: how many each one selects, and how many of those are in a
// conflict that it is part of. Pure.
#pragma once

#include <vector>

#include "operator/policy/resolve.h"

namespace attune::policy {

// One for each policy, in the same order. `jobs`: those that have not ended.
std::vector<api::PolicyStatus> StatusesOf(const std::vector<api::ParsedPolicy>& policies,
                                          const std::vector<JobFacts>& jobs, WallTime now);

}  // namespace attune::policy
