// What `attune policy` reads of a cluster: policies, labels of namespaces, jobs. What may not be read is left out and
// noted, as the operator does without it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operator/api/policy/policy.h"
#include "operator/kube/api.h"

namespace attune::cli {

// Of both kinds, ClusterTuningPolicies first.
struct StoredPolicies {
  std::vector<kube::Json> objects;
  std::vector<std::string> notes;  // what is missing among them, and what follows

  std::vector<api::Policy> Values() const;
};

// ClusterTuningPolicies, and TuningPolicies of some namespaces ("": of all). FailedPrecondition when a cluster knows
// neither kind, PermissionDenied when neither may be read; both say what to do.
StatusOr<StoredPolicies> ReadPolicies(kube::Api& api, const std::vector<std::string>& namespaces);
inline constexpr char kHowToInstallPolicies[] =
    "install the chart with crds.enabled, or the kinds alone with `kubectl apply -f crds/tuningpolicy.yaml -f "
    "crds/clustertuningpolicy.yaml` (docs/policies.md)";

// By the name of the namespace. One that may not be read is absent, and noted when a policy asks for its labels.
using NamespaceLabels = std::map<std::string, api::Labels>;
NamespaceLabels ReadNamespaceLabels(kube::Api& api, const std::vector<std::string>& names,
                                    const std::vector<api::Policy>& policies, std::vector<std::string>& notes);
std::optional<api::Labels> LabelsIn(const NamespaceLabels& namespaces, std::string_view name);

// Jobs that policies may be about, and the namespaces that were looked through ("": all).
struct JobsUnder {
  std::vector<kube::Json> jobs;
  std::vector<std::string> namespaces;
};
// Of all namespaces, or of those that `policies` lie in when there is no ClusterTuningPolicy among them. Where all may
// not be listed, those of `own_namespace`, which is noted.
StatusOr<JobsUnder> ReadJobsUnder(kube::Api& api, const std::vector<api::Policy>& policies,
                                  const std::string& own_namespace, std::vector<std::string>& notes);

}  // namespace attune::cli
