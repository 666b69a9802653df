// `attune policy explain JOB`: what is in force for a job, which policy says so, what it overruled, and why other
// policies are not about it. Pure: the resolver of the operator over what was read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/kube/object.h"
#include "operator/policy/resolve.h"
#include "operator/policy/selection.h"
#include "operator/policy/windows.h"

namespace attune::cli {

struct PassedBy {
  std::string policy;
  policy::NotSelected why;
};

struct PolicyExplanation {
  std::string job, name_space;
  bool ended = false;
  std::string asked_mode;  // of the manifest; "": it states none
  policy::Effective effective;
  std::vector<policy::WindowNow> windows;  // of policies that select the job
  std::vector<PassedBy> passed_by;         // policies that do not
  std::vector<std::string> notes;
};

// `job` and the policies of its namespace and of the cluster, as they were read. `notes`: what could not be.
PolicyExplanation ExplainPolicies(const kube::Json& job, const std::vector<api::Policy>& policies,
                                  const std::optional<api::Labels>& namespace_labels, std::vector<std::string> notes,
                                  WallTime now);

std::string ToText(const PolicyExplanation& explanation, WallTime now);
kube::Json ToJson(const PolicyExplanation& explanation);

}  // namespace attune::cli
