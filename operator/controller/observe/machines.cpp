#include "operator/controller/observe/machines.h"

#include <algorithm>
#include <array>
#include <string>

#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

using kube::Json;
using scheduler::Resources;

double Amount(const Json& resources, const char* name) {
  const Json& value = kube::At(resources, {name});
  if (value.is_string()) return kube::ParseQuantity(value.get_ref<const std::string&>()).value_or(0);
  return value.is_number() ? std::max(0.0, value.get<double>()) : 0;
}

Resources AmountsOf(const Json& resources) { return {Amount(resources, "cpu"), Amount(resources, "memory")}; }

// What is not requested but limited is requested by default.
Resources RequestsOfContainer(const Json& container) {
  Json requests = kube::At(container, {"resources", "limits"});
  if (!requests.is_object()) requests = Json::object();
  const Json& stated = kube::At(container, {"resources", "requests"});
  if (stated.is_object()) requests.update(stated);
  return AmountsOf(requests);
}

Resources Sum(const Resources& a, const Resources& b) {
  return {a.cpu_cores + b.cpu_cores, a.memory_bytes + b.memory_bytes};
}
Resources Larger(const Resources& a, const Resources& b) {
  return {std::max(a.cpu_cores, b.cpu_cores), std::max(a.memory_bytes, b.memory_bytes)};
}

// Taints by which autoscalers and the agents of clouds announce that a machine is about to be taken away. What they do
// next is what an administrator does who has cordoned it: its pods are evicted.
constexpr std::array kGoingTaints = {
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "aws-node-termination-handler/spot-itn",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "aws-node-termination-handler/rebalance-recommendation",
    "cloud.google.com/impending-node-termination",
    "node.kubernetes.io/out-of-service",
};

bool IsGoing(const Json& node) {
  const Json& taints = kube::At(node, {"spec", "taints"});
  if (!taints.is_array()) return false;
  return std::ranges::any_of(taints, [](const Json& taint) {
    const std::string key(kube::StringAt(taint, {"key"}));
    // A preference is no announcement.
    return kube::StringAt(taint, {"effect"}) != "PreferNoSchedule" &&
           std::ranges::find(kGoingTaints, key) != kGoingTaints.end();
  });
}

bool TakesPods(const Json& node) {
  const ObservedNode seen = ObserveNode(node);
  return seen.ready && !seen.cordoned;
}

}  // namespace

Json ProjectNode(const Json& node) {
  const ObservedNode seen = ObserveNode(node);
  const Json& allocatable = kube::At(node, {"status", "allocatable"});
  Json kept = {
      {"metadata",
       {{"name", kube::Name(node)}, {"uid", kube::Uid(node)}, {"resourceVersion", kube::ResourceVersion(node)}}},
      {"spec", {{"unschedulable", seen.cordoned}}},
      {"status",
       {{"allocatable", Json::object()},
        {"conditions", Json::array({{{"type", "Ready"}, {"status", seen.ready ? "True" : "False"}}})}}}};
  for (const char* resource : {"cpu", "memory"}) {
    const Json& amount = kube::At(allocatable, {resource});
    if (!amount.is_null()) kept["status"]["allocatable"][resource] = amount;
  }
  return kept;
}

ObservedNode ObserveNode(const Json& node) {
  ObservedNode seen;
  const Json& cordoned = kube::At(node, {"spec", "unschedulable"});
  seen.cordoned = (cordoned.is_boolean() && cordoned.get<bool>()) || IsGoing(node);
  const Json& conditions = kube::At(node, {"status", "conditions"});
  if (!conditions.is_array()) return seen;
  seen.ready = std::none_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return kube::StringAt(condition, {"type"}) == "Ready" && kube::StringAt(condition, {"status"}) != "True";
  });
  return seen;
}

Resources RequestsOf(const Json& pod) {
  Resources running, starting;
  if (const Json& containers = kube::At(pod, {"spec", "containers"}); containers.is_array()) {
    for (const Json& container : containers) running = Sum(running, RequestsOfContainer(container));
  }
  if (const Json& init = kube::At(pod, {"spec", "initContainers"}); init.is_array()) {
    for (const Json& container : init) {
      const Resources each = RequestsOfContainer(container);
      const bool stays = kube::StringAt(container, {"restartPolicy"}) == "Always";
      if (stays) {
        running = Sum(running, each);
      } else {
        starting = Larger(starting, each);
      }
    }
  }
  return Larger(running, starting);
}

std::vector<scheduler::Machine> FreeMachines(const std::vector<kube::Snapshot>& nodes,
                                             const std::vector<ObservedPod>& pods) {
  std::vector<scheduler::Machine> machines;
  for (const kube::Snapshot& node : nodes) {
    if (!TakesPods(*node)) continue;
    scheduler::Machine machine{std::string(kube::Name(*node)), AmountsOf(kube::At(*node, {"status", "allocatable"}))};
    for (const ObservedPod& pod : pods) {
      if (pod.node != machine.name || HasEnded(pod)) continue;
      machine.free.cpu_cores = std::max(0.0, machine.free.cpu_cores - pod.requests.cpu_cores);
      machine.free.memory_bytes = std::max(0.0, machine.free.memory_bytes - pod.requests.memory_bytes);
    }
    machines.push_back(std::move(machine));
  }
  return machines;
}

bool NeedsMachines(const Observed& observed) {
  const std::string& request = observed.job.move_request;
  const auto& move = observed.job.status.move;
  if (!request.empty() && (!move || move->request != request)) return true;
  int64_t workers = 0;
  for (const ObservedPod& pod : observed.pods) {
    if (!pod.scheduled && !pod.unschedulable_message.empty()) return true;
    if (IsWorkerOf(observed, pod) && !pod.drain_deadline) ++workers;
  }
  return workers > observed.job.spec.workers.replicas;
}

std::string ExplainWaiting(const Observed& observed, RoleName role) {
  if (!observed.machines) return "";
  std::vector<scheduler::Demand> demands;
  for (const ObservedPod& pod : observed.pods) {
    if (pod.scheduled || IsBeingDeleted(pod) || pod.role != role || pod.job_uid != observed.job.uid) continue;
    const auto same = std::ranges::find_if(demands, [&](const auto& demand) { return demand.each == pod.requests; });
    if (same != demands.end()) {
      ++same->count;
    } else {
      demands.push_back({ToString(pod.role), 1, pod.requests});
    }
  }
  return scheduler::Explain(scheduler::FindFit(demands, *observed.machines), demands, *observed.machines);
}

}  // namespace attune::controller
