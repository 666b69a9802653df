#include "operator/policy/in_force.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace attune::policy {
namespace {

bool States(const kube::Json& job, std::initializer_list<std::string_view> path) {
  return !kube::At(job, path).is_null();
}

}  // namespace

api::Labels LabelsOf(const kube::Json& object) {
  api::Labels labels;
  const kube::Json& found = kube::At(object, {"metadata", "labels"});
  if (!found.is_object()) return labels;
  for (const auto& [name, value] : found.items()) {
    if (value.is_string()) labels[name] = value.get<std::string>();
  }
  return labels;
}

JobFacts FactsOf(const kube::Json& object, const std::optional<api::Labels>& namespace_labels, api::Tuning tuning) {
  JobFacts facts;
  facts.name_space = kube::Namespace(object);
  facts.labels = LabelsOf(object);
  facts.namespace_labels = namespace_labels;
  facts.tuning = std::move(tuning);
  facts.states_mode = States(object, {"spec", "tuning", "mode"});
  facts.states_objective = States(object, {"spec", "tuning", "objective", "kind"});
  return facts;
}

std::optional<Effective> InForce(const JobFacts& job, std::vector<api::Policy> policies, WallTime now) {
  Effective effective = Resolve(job, std::move(policies), now);
  if (effective.policies.empty()) return std::nullopt;
  return effective;
}

}  // namespace attune::policy
