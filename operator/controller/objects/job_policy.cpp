#include "operator/controller/objects/job_policy.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "operator/controller/objects/pods.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

// Of this run of the job: another one of the same name has another uid.
Json OwnPods(const api::TrainingJob& job) { return {{"matchLabels", {{contract::kLabelJobUid, job.uid}}}}; }

bool IsPeer(const Json& value) {
  constexpr std::array<std::string_view, 3> kFields = {"podSelector", "namespaceSelector", "ipBlock"};
  return value.is_object() && !value.empty() && std::ranges::all_of(value.items(), [&](const auto& field) {
           return std::ranges::find(kFields, field.key()) != kFields.end() && field.value().is_object();
         });
}

}  // namespace

std::string JobPolicyName(const api::TrainingJob& job) { return job.name + "-attune-" + job.uid; }

Json BuildJobPolicy(const api::TrainingJob& job, const Json& metrics_from) {
  Json metrics = {{"ports", Json::array({{{"protocol", "TCP"}, {"port", contract::kMetricsPort}}})}};
  if (!metrics_from.empty()) metrics["from"] = metrics_from;
  const Json each_other = {{"from", Json::array({{{"podSelector", OwnPods(job)}}})}};
  return {{"apiVersion", kNetworkPolicies.api_version()},
          {"kind", kNetworkPolicies.kind},
          {"metadata", OwnedMetadata(job, JobPolicyName(job))},
          {"spec",
           {{"podSelector", OwnPods(job)},
            {"policyTypes", Json::array({"Ingress"})},
            {"ingress", Json::array({each_other, std::move(metrics)})}}}};
}

void PlanJobPolicy(const Observed& observed, const PlanOptions& options, Now now, Draft& draft) {
  if (!options.job_policies) return;
  if (observed.policy_seen_at) {
    const Duration seen = now.monotonic - *observed.policy_seen_at;
    if (seen < options.policy_renewal) return draft.Requeue(options.policy_renewal - seen, "the job's NetworkPolicy");
  }
  draft.Create(CreateNetworkPolicy{BuildJobPolicy(observed.job, options.policy_metrics_from),
                                   "keeps other pods away from the job's"});
}

StatusOr<Json> ParsePolicyPeers(const std::string& text) {
  Json peers = Json::parse(text, nullptr, false);
  if (peers.is_array() && std::ranges::all_of(peers, IsPeer)) return peers;
  return Error(StatusCode::kInvalidArgument,
               "'" + text +
                   "' is no list of peers; write JSON as in a NetworkPolicy's \"from\", for example "
                   R"([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}])");
}

}  // namespace attune::controller
