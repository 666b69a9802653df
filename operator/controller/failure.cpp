#include "operator/controller/failure.h"

#include <algorithm>

namespace attune::controller {

std::vector<const ObservedPod*> PodsWhoseLogIsNeeded(const Observed& observed) {
  std::vector<const ObservedPod*> pods;
  if (api::IsTrue(observed.job.status, api::kFailed) || api::IsTrue(observed.job.status, api::kSucceeded)) return pods;
  for (const ObservedPod& pod : observed.pods) {
    const bool ours = pod.index >= 0 && pod.job_uid == observed.job.uid && !IsBeingDeleted(pod);
    const bool ended_badly = HasFailed(pod) || (pod.role == RoleName::kServer && HasSucceeded(pod));
    if (ours && ended_badly && !pod.failure_number) pods.push_back(&pod);
  }
  return pods;
}

std::string DescribeEnd(const ObservedPod& pod) {
  constexpr int kSignalBase = 128;  // a shell's and container runtime's way to tell a signal
  constexpr int kSignalMax = 64;
  const RoleContainer& container = pod.container;
  if (container.reason == "OOMKilled") {
    return "ran out of memory (OOMKilled); raise the memory limit of its container in the template";
  }
  if (container.state != RoleContainer::State::kTerminated) {
    if (pod.phase == PodPhase::kFailed) {
      const std::string reason = pod.reason.empty() ? "the pod failed" : "the pod failed as a whole: " + pod.reason;
      return "was ended: " + reason + (pod.message.empty() ? "" : " (" + pod.message + ")");
    }
    return "ended";
  }
  std::string text;
  if (container.exit_code > kSignalBase && container.exit_code <= kSignalBase + kSignalMax) {
    text = "was killed by signal " + std::to_string(container.exit_code - kSignalBase);
  } else {
    text = "exited with code " + std::to_string(container.exit_code);
  }
  const bool telling = !container.reason.empty() && container.reason != "Error" && container.reason != "Completed";
  if (telling) text += " (" + container.reason + ")";
  if (!container.message.empty()) text += ": " + container.message;
  if (!pod.reason.empty()) text += "; pod: " + pod.reason + (pod.message.empty() ? "" : ": " + pod.message);
  return text;
}

std::string LogTail(const Observed& observed, const ObservedPod& pod) {
  const auto found = observed.log_tails.find(pod.uid);
  if (found == observed.log_tails.end() || found->second.empty()) return "";
  return " Last lines of its log:\n" + found->second;
}

Duration RestartDelay(const PlanOptions& options, int32_t failure_number) {
  Duration delay = options.restart_backoff_first;
  for (int32_t n = 1; n < failure_number && delay < options.restart_backoff_max; ++n) delay *= 2;
  return std::min(delay, options.restart_backoff_max);
}

}  // namespace attune::controller
