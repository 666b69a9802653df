#include "operator/policy/selection.h"

namespace attune::policy {

std::optional<NotSelected> WhyNotSelected(const api::Policy& policy, const JobFacts& job) {
  if (!policy.name_space.empty() && policy.name_space != job.name_space)
    return NotSelected{"metadata.namespace", "it is about jobs of namespace " + policy.name_space};
  if (const auto jobs = api::FirstMismatch(policy.spec.jobs, job.labels))
    return NotSelected{"spec.selector.jobs", "the job " + *jobs};
  if (!job.namespace_labels) return std::nullopt;
  if (const auto namespaces = api::FirstMismatch(policy.spec.namespaces, *job.namespace_labels))
    return NotSelected{"spec.selector.namespaces", "namespace " + job.name_space + " " + *namespaces};
  return std::nullopt;
}

}  // namespace attune::policy
