#include "cli/policies/policy_sources.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "operator/policy/in_force.h"

namespace attune::cli {
namespace {

// A kind that is not there, or not for this user: policies of the other one still count.
bool IsWithout(const Status& status) {
  return status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied;
}

StatusOr<std::vector<kube::Json>> ListAll(kube::Api& api, const kube::ResourceType& type,
                                          const std::vector<std::string>& namespaces) {
  std::vector<kube::Json> objects;
  for (const std::string& name : namespaces) {
    ASSIGN_OR_RETURN(kube::ListResult list, api.List(type, {.name_space = name}));
    std::ranges::move(list.items, std::back_inserter(objects));
  }
  return objects;
}

std::string NoteOn(const kube::ResourceType& type, const Status& status) {
  if (status.code() == StatusCode::kNotFound)
    return "the cluster does not know the kind " + type.kind + ", so that none is shown";
  return type.kind + " objects may not be read (" + std::string(Message(status)) +
         "): what they say is missing here, and counts for the operator";
}

Status NoPolicies(const Status& cluster, const Status& own) {
  if (cluster.code() == StatusCode::kNotFound && own.code() == StatusCode::kNotFound) {
    return Error(StatusCode::kFailedPrecondition,
                 std::string("the cluster has no tuning policies: it knows neither TuningPolicy nor "
                             "ClusterTuningPolicy; to have them ") +
                     kHowToInstallPolicies);
  }
  const Status& denied = own.code() == StatusCode::kPermissionDenied ? own : cluster;
  return Error(StatusCode::kPermissionDenied,
               std::string(Message(denied)) +
                   "; ask for the verbs get and list of tuningpolicies and clustertuningpolicies in the group "
                   "attune.dev (docs/policies.md#rights), or name your namespace with -n");
}

bool AsksForNamespaceLabels(const std::vector<api::Policy>& policies) {
  return std::ranges::any_of(policies,
                             [](const api::Policy& policy) { return policy.spec.namespaces != api::LabelSelector(); });
}

}  // namespace

std::vector<api::Policy> StoredPolicies::Values() const {
  std::vector<api::Policy> values;
  values.reserve(objects.size());
  for (const kube::Json& object : objects) values.push_back(api::ParsePolicy(object).policy);
  return values;
}

StatusOr<StoredPolicies> ReadPolicies(kube::Api& api, const std::vector<std::string>& namespaces) {
  const auto cluster = ListAll(api, kube::kClusterTuningPolicies, {""});
  const auto own = ListAll(api, kube::kTuningPolicies, namespaces);
  for (const Status& status : {cluster.status(), own.status()}) {
    if (!status.ok() && !IsWithout(status)) return Annotate(status, "listing tuning policies");
  }
  if (!cluster.ok() && !own.ok()) return NoPolicies(cluster.status(), own.status());
  StoredPolicies stored;
  const auto take = [&](const kube::ResourceType& type, const StatusOr<std::vector<kube::Json>>& list) {
    if (!list.ok()) return stored.notes.push_back(NoteOn(type, list.status()));
    stored.objects.insert(stored.objects.end(), list->begin(), list->end());
  };
  take(kube::kClusterTuningPolicies, cluster);
  take(kube::kTuningPolicies, own);
  std::ranges::stable_sort(stored.objects, {}, [](const kube::Json& object) { return kube::KeyOf(object); });
  return stored;
}

NamespaceLabels ReadNamespaceLabels(kube::Api& api, const std::vector<std::string>& names,
                                    const std::vector<api::Policy>& policies, std::vector<std::string>& notes) {
  NamespaceLabels labels;
  std::string hidden;
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    const auto object = api.Get(kube::kNamespaces, {"", name});
    if (object.ok()) {
      labels[name] = policy::LabelsOf(*object);
    } else {
      hidden += (hidden.empty() ? "" : ", ") + name;
    }
  }
  if (!hidden.empty() && AsksForNamespaceLabels(policies)) {
    notes.push_back("labels of namespace " + hidden +
                    " may not be read here: policies that select namespaces by labels are taken to select it, the "
                    "stricter reading");
  }
  return labels;
}

std::optional<api::Labels> LabelsIn(const NamespaceLabels& namespaces, std::string_view name) {
  const auto at = namespaces.find(std::string(name));
  return at == namespaces.end() ? std::nullopt : std::optional<api::Labels>(at->second);
}

StatusOr<JobsUnder> ReadJobsUnder(kube::Api& api, const std::vector<api::Policy>& policies,
                                  const std::string& own_namespace, std::vector<std::string>& notes) {
  std::set<std::string> names;
  for (const api::Policy& policy : policies) names.insert(policy.name_space);
  if (names.contains("")) names = {""};
  auto jobs = ListAll(api, kube::kTrainingJobs, {names.begin(), names.end()});
  if (jobs.status().code() == StatusCode::kPermissionDenied && names.contains("")) {
    notes.push_back("jobs of all namespaces may not be listed (" + std::string(Message(jobs.status())) +
                    "): only those of namespace " + own_namespace + " are looked at");
    names = {own_namespace};
    jobs = ListAll(api, kube::kTrainingJobs, {own_namespace});
  }
  if (!jobs.ok()) return Annotate(jobs.status(), "listing the jobs");
  return JobsUnder{*std::move(jobs), {names.begin(), names.end()}};
}

}  // namespace attune::cli
