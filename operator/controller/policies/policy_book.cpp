#include "operator/controller/policies/policy_book.h"

#include <string>
#include <utility>

#include "operator/api/status/chosen_settings.h"
#include "operator/policy/report.h"

#include "operator/policy/in_force.h"

namespace attune::controller {

policy::JobFacts PolicyBook::FactsOf(const kube::Json& job, const api::Tuning& tuning) const {
  std::optional<api::Labels> labels;
  if (const kube::Snapshot own = caches_.namespaces.Get({"", std::string(kube::Namespace(job))}))
    labels = policy::LabelsOf(*own);
  return policy::FactsOf(job, labels, tuning);
}

std::optional<policy::Effective> PolicyBook::InForce(const kube::Json& object, const api::TrainingJob& job,
                                                     WallTime now) const {
  const policy::JobFacts facts = FactsOf(object, job.spec.tuning);
  std::vector<api::Policy> policies;
  for (const kube::WatchCache* cache : {&caches_.cluster, &caches_.own}) {
    for (const kube::Snapshot& each : cache->All()) {
      api::Policy policy = api::ParsePolicy(*each).policy;
      if (policy::Selects(policy, facts)) policies.push_back(std::move(policy));
    }
  }
  return policy::InForce(facts, std::move(policies), now);
}

std::vector<PolicyBook::Report> PolicyBook::ReportOn(const std::vector<kube::Snapshot>& jobs, WallTime now) const {
  std::vector<api::ParsedPolicy> policies;
  for (const kube::WatchCache* cache : {&caches_.cluster, &caches_.own}) {
    for (const kube::Snapshot& each : cache->All()) policies.push_back(api::ParsePolicy(*each));
  }
  if (policies.empty()) return {};
  std::vector<policy::JobFacts> running;
  for (const kube::Snapshot& object : jobs) {
    const api::TrainingJob job = api::ParseInForce(*object).job;
    if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) continue;
    running.push_back(FactsOf(*object, job.spec.tuning));
  }
  const std::vector<api::PolicyStatus> due = policy::StatusesOf(policies, running, now);
  std::vector<Report> reports;
  for (size_t i = 0; i < policies.size(); ++i) reports.push_back({std::move(policies[i].policy), due[i]});
  return reports;
}

bool PolicyBook::IsAbout(const kube::Json& policy, const kube::Json& job) const {
  return policy::Selects(api::ParsePolicy(policy).policy, FactsOf(job, {}));
}

}  // namespace attune::controller
