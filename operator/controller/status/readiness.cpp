#include "operator/controller/status/readiness.h"

#include <algorithm>
#include <optional>

#include "operator/controller/observe/machines.h"
#include "operator/controller/plan/failure.h"

namespace attune::controller {
namespace {

bool IsImageReason(const std::string& reason) {
  return reason == "ErrImagePull" || reason == "ImagePullBackOff" || reason == "InvalidImageName" ||
         reason == "ErrImageNeverPull" || reason == "ImageInspectError" || reason == "RegistryUnavailable";
}

// A pod that does not move on by itself, and what to do about it.
std::optional<Readiness> Obstacle(const Observed& observed, const ObservedPod& pod) {
  const char* role = ToString(pod.role);
  if (IsBeingDeleted(pod)) {
    return Readiness{false, kReasonLeaving, "waiting for the previous pod " + pod.name + " to end"};
  }
  if (!pod.scheduled && !pod.unschedulable_message.empty()) {
    const std::string figures = ExplainWaiting(observed, pod.role);
    return Readiness{
        false, kReasonUnschedulable,
        pod.name + " cannot be placed on a node: " + pod.unschedulable_message + " " +
            (figures.empty() ? "Lower the requests in spec." + std::string(role) + "s.template or add capacity."
                             : figures)};
  }
  if (pod.container.state == RoleContainer::State::kWaiting && IsImageReason(pod.container.reason)) {
    return Readiness{false, kReasonImage,
                     pod.name + ": the image of container \"" + role + "\" cannot be pulled (" + pod.container.reason +
                         "): " + pod.container.message + " Check the image in spec." + role + "s.template."};
  }
  const std::string& waiting = pod.container.reason;
  const bool ordinary = waiting.empty() || waiting == "ContainerCreating" || waiting == "PodInitializing";
  if (pod.container.state == RoleContainer::State::kWaiting && !ordinary) {
    return Readiness{false, kReasonContainerConfig, pod.name + ": " + waiting + ": " + pod.container.message};
  }
  if (!pod.other_wait.empty() && !HasStarted(pod)) {
    return Readiness{false, kReasonContainerConfig, pod.name + ": container " + pod.other_wait};
  }
  if (pod.phase == PodPhase::kUnknown || pod.reason == "NodeLost") {
    return Readiness{
        false, kReasonNotReady,
        pod.name + ": node " + pod.node + " is not heard from; the pod is replaced if the node stays away"};
  }
  return std::nullopt;
}

std::string Count(int32_t part, int32_t all, const char* what) {
  return std::to_string(part) + " of " + std::to_string(all) + " " + what;
}

}  // namespace

Readiness ServersReadiness(const Observed& observed, const ServersView& servers) {
  if (servers.count > 0 && servers.ready == servers.count) {
    return {true, kReasonReady, Count(servers.ready, servers.count, "servers are ready")};
  }
  for (const ObservedPod* pod : servers.by_index) {
    if (pod == nullptr || (pod->ready && !IsBeingDeleted(*pod))) continue;
    if (auto obstacle = Obstacle(observed, *pod)) return *obstacle;
  }
  return {false, servers.formed ? kReasonNotReady : kReasonStarting,
          Count(servers.ready, servers.count, "servers are ready")};
}

Readiness WorkersReadiness(const Observed& observed, const ServersView& servers, const WorkersView& workers) {
  const int32_t done_or_ready = workers.ready + workers.succeeded;
  if (workers.desired > 0 && done_or_ready == workers.desired) {
    std::string message = Count(workers.ready, workers.desired, "workers are ready");
    if (workers.succeeded > 0) message += ", " + std::to_string(workers.succeeded) + " finished";
    return {true, kReasonReady, std::move(message)};
  }
  if (!servers.begun)
    return {false, kReasonWaitingForServers, "workers are created as soon as all servers have joined"};
  for (const ObservedPod* pod : workers.by_index) {
    const bool bad = pod != nullptr && workers.HasEndedBadly(*pod);
    if (pod == nullptr || (!bad && (pod->ready || HasSucceeded(*pod)) && !IsBeingDeleted(*pod))) continue;
    if (auto obstacle = Obstacle(observed, *pod)) return *obstacle;
    if (bad) {
      return {false, kReasonRestarting,
              pod->name + " " + DescribeWorkerEnd(observed, servers, workers, *pod) + " and is restarted; " +
                  std::to_string(workers.failures) + " of at most " +
                  std::to_string(observed.job.spec.run_policy.backoff_limit) + " restarts used"};
    }
  }
  for (const ObservedPod* pod : workers.leaving) {
    if (std::ranges::binary_search(workers.indices, pod->index)) {
      return {false, kReasonLeaving, "waiting for " + pod->name + ", which was asked to leave before, to end"};
    }
  }
  return {false, kReasonStarting, Count(workers.ready, workers.desired, "workers are ready")};
}

}  // namespace attune::controller
