#include "operator/policy/report.h"

#include <algorithm>
#include <string>

namespace attune::policy {

std::vector<api::PolicyStatus> StatusesOf(const std::vector<api::ParsedPolicy>& policies,
                                          const std::vector<JobFacts>& jobs, WallTime now) {
  std::vector<api::PolicyStatus> statuses;
  for (const api::ParsedPolicy& each : policies) {
    api::PolicyStatus& status = statuses.emplace_back();
    status.observed_generation = each.policy.generation;
    for (const api::FieldProblem& problem : each.problems)
      status.message += (status.message.empty() ? "" : "; ") + ToString(problem);
  }
  for (const JobFacts& job : jobs) {
    std::vector<size_t> selecting;
    std::vector<api::Policy> those;
    for (size_t i = 0; i < policies.size(); ++i) {
      if (!Selects(policies[i].policy, job)) continue;
      selecting.push_back(i);
      those.push_back(policies[i].policy);
    }
    if (selecting.empty()) continue;
    const std::vector<Conflict> conflicts = Resolve(job, std::move(those), now).conflicts;
    for (const size_t i : selecting) {
      api::PolicyStatus& status = statuses[i];
      ++status.jobs;
      const std::string name = NameOf(policies[i].policy);
      const auto found = std::ranges::find_if(
          conflicts, [&](const Conflict& conflict) { return std::ranges::count(conflict.between, name) > 0; });
      if (found == conflicts.end()) continue;
      ++status.conflicts;
      if (status.message.empty()) status.message = found->text;
    }
  }
  return statuses;
}

}  // namespace attune::policy
