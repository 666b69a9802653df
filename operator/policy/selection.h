// Why a policy is not about a job, for a user whose policy does not take.
#pragma once

#include <optional>
#include <string>

#include "operator/policy/resolve.h"

namespace attune::policy {

struct NotSelected {
  std::string field;  // the part of the policy that fails first: "spec.selector.jobs", "metadata.namespace"
  std::string why;    // "the job has no label priority; asked for is priority=low"
};

// Nothing where Selects() holds.
std::optional<NotSelected> WhyNotSelected(const api::Policy& policy, const JobFacts& job);

}  // namespace attune::policy
