#include "operator/controller/policies/policy_book.h"

#include <utility>
#include <vector>

namespace attune::controller {
namespace {

api::Labels LabelsOf(const kube::Json& object) {
  api::Labels labels;
  const kube::Json& found = kube::At(object, {"metadata", "labels"});
  if (!found.is_object()) return labels;
  for (const auto& [name, value] : found.items()) {
    if (value.is_string()) labels[name] = value.get<std::string>();
  }
  return labels;
}

bool States(const kube::Json& job, std::initializer_list<std::string_view> path) {
  return !kube::At(job, path).is_null();
}

}  // namespace

policy::JobFacts PolicyBook::FactsOf(const kube::Json& job) const {
  policy::JobFacts facts;
  facts.name_space = kube::Namespace(job);
  facts.labels = LabelsOf(job);
  if (const kube::Snapshot own = caches_.namespaces.Get({"", facts.name_space}))
    facts.namespace_labels = LabelsOf(*own);
  facts.states_mode = States(job, {"spec", "tuning", "mode"});
  facts.states_objective = States(job, {"spec", "tuning", "objective", "kind"});
  return facts;
}

std::optional<policy::Effective> PolicyBook::InForce(const kube::Json& object, const api::TrainingJob& job,
                                                     WallTime now) const {
  policy::JobFacts facts = FactsOf(object);
  facts.tuning = job.spec.tuning;
  std::vector<api::Policy> policies;
  for (const kube::WatchCache* cache : {&caches_.cluster, &caches_.own}) {
    for (const kube::Snapshot& each : cache->All()) {
      api::Policy policy = api::ParsePolicy(*each).policy;
      if (policy::Selects(policy, facts)) policies.push_back(std::move(policy));
    }
  }
  if (policies.empty()) return std::nullopt;
  return policy::Resolve(facts, std::move(policies), now);
}

bool PolicyBook::IsAbout(const kube::Json& policy, const kube::Json& job) const {
  return policy::Selects(api::ParsePolicy(policy).policy, FactsOf(job));
}

}  // namespace attune::controller
