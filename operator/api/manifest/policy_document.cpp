#include "operator/api/manifest/policy_document.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "operator/api/names.h"
#include "operator/api/pod/label_names.h"
#include "operator/api/pod_template.h"
#include "operator/api/policy/policy.h"

namespace attune::api {
namespace {

// The kind of policy that is meant, if one is.
std::optional<std::string> PolicyKind(const Json& object) {
  const std::string found(kube::StringAt(object, {"kind"}));
  const std::vector<std::string> kinds = {kube::kTrainingJobs.kind, kube::kTuningPolicies.kind,
                                          kube::kClusterTuningPolicies.kind};
  const bool is_known = std::ranges::find(kinds, found) != kinds.end();
  std::optional<std::string> kind = is_known ? found : NearestName(found, kinds);
  if (kind == kube::kTrainingJobs.kind) kind.reset();
  return kind;
}

std::string FoundAt(const Json& object, const char* key) { return FoundText(kube::At(object, {key})); }

}  // namespace

bool IsMeantAsPolicy(const Json& object) { return PolicyKind(object).has_value(); }

std::vector<FieldProblem> PolicyProblems(const Json& object) {
  const std::string kind = PolicyKind(object).value_or(kube::kTuningPolicies.kind);
  const std::string version = kube::kTuningPolicies.api_version();
  std::vector<FieldProblem> problems;
  if (kube::StringAt(object, {"apiVersion"}) != version)
    problems.push_back({"apiVersion", FoundAt(object, "apiVersion"), version + ", the one version understood"});
  if (kube::StringAt(object, {"kind"}) != kind)
    problems.push_back({"kind", FoundAt(object, "kind"), kind + " (nearest); all: TuningPolicy, ClusterTuningPolicy"});
  Json meant = object;
  meant["apiVersion"] = version;
  meant["kind"] = kind;
  for (FieldProblem& problem : ParsePolicy(meant).problems) problems.push_back(std::move(problem));
  CheckNamesAndValues(kube::At(object, {"metadata", "labels"}), "metadata.labels", true, problems);
  CheckNamesAndValues(kube::At(object, {"metadata", "annotations"}), "metadata.annotations", false, problems);
  return problems;
}

FieldProblem NoPolicyProblem(const Json& object) {
  return {"kind", FoundAt(object, "kind"), "TuningPolicy or ClusterTuningPolicy"};
}

}  // namespace attune::api
