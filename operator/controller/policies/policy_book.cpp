#include "operator/controller/policies/policy_book.h"

#include <string>
#include <utility>
#include <vector>

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

bool PolicyBook::IsAbout(const kube::Json& policy, const kube::Json& job) const {
  return policy::Selects(api::ParsePolicy(policy).policy, FactsOf(job, {}));
}

}  // namespace attune::controller
