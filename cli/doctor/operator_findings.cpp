#include <algorithm>

#include "cli/doctor/cluster_answers.h"
#include "cli/runs/jobs.h"
#include "operator/api/format.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

using kube::At;
using kube::Json;
using kube::StringAt;

constexpr double kLeaseSlack = 10;  // seconds that a renewal may be late, with clocks that differ a little
constexpr char kInstall[] = "helm install attune charts/attune --namespace attune-system --create-namespace";

std::string Upgrade(const OperatorShape& shape) {
  return "helm upgrade " + shape.name + " charts/attune --namespace " + shape.name_space + " --reuse-values";
}

// Containers of these pods that do not start, with the reason of each.
std::string WaitingOf(const JsonList& pods) {
  std::string text;
  for (const Json& pod : pods) {
    const Json& statuses = At(pod, {"status", "containerStatuses"});
    for (const Json& status : statuses.is_array() ? statuses : Json::array()) {
      const std::string reason(StringAt(status, {"state", "waiting", "reason"}));
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      text += (text.empty() ? "" : ", ") + std::string(kube::Name(pod)) + ": " + reason + " (" +
              std::string(StringAt(status, {"image"})) + ")";
    }
    const Json& conditions = At(pod, {"status", "conditions"});
    for (const Json& condition : conditions.is_array() ? conditions : Json::array()) {
      if (StringAt(condition, {"reason"}) != "Unschedulable") continue;
      text += (text.empty() ? "" : ", ") + std::string(kube::Name(pod)) + ": " +
              std::string(StringAt(condition, {"message"}));
    }
  }
  return text;
}

Finding JudgeReplicas(const OperatorAnswers& answers, const ClusterAnswers& all) {
  const OperatorShape& shape = answers.shape;
  const std::string name = shape.key().ToString();
  const std::string in_namespace = all.kubectl + " -n " + shape.name_space;
  if (shape.wanted == 0) {
    return Problem("operator", name + " is scaled to 0: no process looks after jobs",
                   in_namespace + " scale deployment " + shape.name + " --replicas=2");
  }
  const std::string ready = std::to_string(shape.ready) + " of " + std::to_string(shape.wanted) + " replicas ready";
  const std::string waiting = answers.pods.ok() ? WaitingOf(*answers.pods) : "";
  const std::string seen = name + ": " + ready + (waiting.empty() ? "" : "; " + waiting);
  const std::string mend = in_namespace + " describe pods -l " + kOperatorSelector;
  if (shape.ready == 0) return Problem("operator", seen, mend);
  if (shape.ready < shape.wanted) return Warning("operator", seen, mend);
  if (!shape.version.empty() && shape.version != all.version) {
    return Warning("operator", name + " is version " + shape.version + ", and this program " + all.version,
                   Upgrade(shape) + ", or use the program of the operator's version");
  }
  return Ok("operator", name + " " + shape.version + ", " + ready);
}

Finding JudgeLeader(const OperatorAnswers& answers, const ClusterAnswers& all) {
  const OperatorShape& shape = answers.shape;
  if (!shape.elects) return Ok("leader", shape.key().ToString() + " is alone, and elects none");
  const std::string lease = shape.name_space + "/" + shape.lease;
  const std::string logs = all.kubectl + " -n " + shape.name_space + " logs deployment/" + shape.name;
  if (answers.lease.status().code() == StatusCode::kNotFound)
    return Problem("leader", "none: Lease " + lease + " does not exist, so no replica acts", logs);
  if (!answers.lease.ok()) return NotSeen("leader", answers.lease.status());
  const std::string holder(StringAt(*answers.lease, {"spec", "holderIdentity"}));
  if (holder.empty()) return Problem("leader", "none: Lease " + lease + " has no holder, so no replica acts", logs);
  // By the clock of the cluster, which wrote it.
  const double now = all.server_time.ok() ? static_cast<double>(*all.server_time) : all.now;
  const double age = now - ParseTime(std::string(StringAt(*answers.lease, {"spec", "renewTime"})));
  const auto lasts = static_cast<double>(kube::IntegerAt(*answers.lease, {"spec", "leaseDurationSeconds"}, 15));
  if (age > lasts + kLeaseSlack) {
    return Problem(
        "leader",
        holder + " has not renewed Lease " + lease + " for " + api::FormatAge(age) + ", and no other replica took over",
        logs);
  }
  return Ok("leader", holder + ", renewed " + api::FormatAge(std::max(age, 0.0)) + " ago");
}

Finding JudgeOperatorRights(const OperatorAnswers& answers, const ClusterAnswers& all) {
  const std::string user = "system:serviceaccount:" + answers.shape.name_space + ":" + answers.shape.service_account;
  std::string missing;
  const AskedRight* first = nullptr;
  for (const AskedRight& asked : answers.rights) {
    if (!asked.allowed.ok()) return NotSeen("operator rights", asked.allowed.status());
    if (*asked.allowed) continue;
    if (first == nullptr) first = &asked;
    missing += (missing.empty() ? "" : ", ") + ToString(asked.right);
  }
  if (first == nullptr) return Ok("operator rights", "all that the chart gives");
  return Problem("operator rights", user + " may not: " + missing,
                 Upgrade(answers.shape) + " restores the chart's rules; " + all.kubectl + " auth can-i " +
                     first->right.verb + " " + first->right.resource + " --as=" + user + " shows one");
}

Finding JudgeMetrics(const OperatorAnswers& answers) {
  if (answers.shape.ready == 0) return Warning("metrics", "no replica of the operator is ready to be asked", "");
  if (!answers.metrics.ok()) return NotSeen("metrics", answers.metrics.status());
  if (answers.metrics->find("attune_operator_build_info") == std::string::npos) {
    return Warning(
        "metrics",
        "port " + std::to_string(contract::kOperatorMetricsPort) + " of the operator answers, and not with its metrics",
        "see docs/monitoring.md");
  }
  return Ok("metrics", "the operator's page answers at port " + std::to_string(contract::kOperatorMetricsPort));
}

std::string ArgumentOf(const Json& container, const std::string& name) {
  const Json& arguments = At(container, {"args"});
  for (const Json& argument : arguments.is_array() ? arguments : Json::array()) {
    if (!argument.is_string()) continue;
    const std::string text = argument.get<std::string>();
    if (text == "--" + name) return "true";
    if (text.starts_with("--" + name + "=")) return text.substr(name.size() + 3);
  }
  return "";
}

}  // namespace

OperatorShape ShapeOf(const Json& deployment) {
  OperatorShape shape;
  shape.name = kube::Name(deployment);
  shape.name_space = kube::Namespace(deployment);
  shape.version = kube::Label(deployment, "app.kubernetes.io/version");
  const Json& pod = At(deployment, {"spec", "template", "spec"});
  shape.service_account = StringAt(pod, {"serviceAccountName"});
  if (shape.service_account.empty()) shape.service_account = "default";
  const Json& containers = At(pod, {"containers"});
  const Json container = containers.is_array() && !containers.empty() ? containers.front() : Json();
  shape.image = StringAt(container, {"image"});
  shape.server_image = ArgumentOf(container, "server-image");
  shape.sidecar_image = ArgumentOf(container, "sidecar-image");
  shape.elects = ArgumentOf(container, "leader-elect") == "true";
  shape.lease = ArgumentOf(container, "leader-elect-name");
  if (shape.lease.empty()) shape.lease = "attune-operator";
  shape.wanted = kube::IntegerAt(deployment, {"spec", "replicas"}, 1);
  shape.ready = kube::IntegerAt(deployment, {"status", "readyReplicas"});
  shape.duties = {.name_space = ArgumentOf(container, "namespace"),
                  .reviews_tokens = ArgumentOf(container, "sidecar-tokens") != "keys",
                  .network_policies = ArgumentOf(container, "job-network-policies") == "true"};
  return shape;
}

Findings JudgeOperators(const ClusterAnswers& answers) {
  if (!answers.deployments.ok()) return {NotSeen("operator", answers.deployments.status())};
  if (answers.deployments->empty()) {
    return {Problem("operator",
                    std::string("none is installed: there is no Deployment with the label ") + kOperatorSelector,
                    kInstall)};
  }
  Findings findings;
  for (const OperatorAnswers& each : answers.operators) {
    findings.push_back(JudgeReplicas(each, answers));
    findings.push_back(JudgeOperatorRights(each, answers));
    if (each.shape.wanted == 0) continue;  // what follows is said
    findings.push_back(JudgeLeader(each, answers));
    findings.push_back(JudgeMetrics(each));
  }
  return findings;
}

}  // namespace attune::cli
