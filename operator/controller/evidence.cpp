#include "operator/controller/evidence.h"

#include <algorithm>

#include "operator/controller/directives.h"

namespace attune::controller {
namespace {

// A process that has reported so many windows, of a second at least, has joined long ago.
constexpr uint64_t kWindowsOfAMember = 20;

const telemetry::PodSample* SampleOf(const Observed& observed, const ObservedPod& pod) {
  const auto& samples = observed.sample.pods;
  const auto found = std::ranges::find_if(samples, [&](const telemetry::PodSample& sample) {
    return sample.pod == pod.name && (sample.pod_uid.empty() || sample.pod_uid == pod.uid);
  });
  return found == samples.end() ? nullptr : &*found;
}

// An operator that has just begun, or was paused, has not listened: its own silence is no sign.
bool IsSilent(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  if (!observed.listening_since) return false;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  if (sample == nullptr) return now.monotonic - *observed.listening_since >= options.never_heard_silence;
  return now.monotonic - std::max(sample->reported_at, *observed.listening_since) >= options.lost_silence;
}

bool IsNodeLost(const Observed& observed, const ObservedPod& pod) {
  if (!observed.nodes || pod.node.empty()) return false;
  const auto node = observed.nodes->find(pod.node);
  return node == observed.nodes->end() || !node->second.ready;
}

// Of servers only: a worker that has left by itself may go on computing, and the coordinator tells no more than how many
// workers there are.
bool IsExpelled(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  if (pod.role != RoleName::kServer) return false;
  const v1::JobWindow* window = CurrentWindow(observed);
  const ObservedPod* coordinator = CoordinatorPod(observed);
  if (window == nullptr || coordinator == nullptr || IsSilent(observed, *coordinator, options, now)) return false;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  const bool has_joined = sample != nullptr && sample->window.sequence() >= kWindowsOfAMember;
  return has_joined && !window->server_states().empty() && !StateOf(*window, pod.index);
}

}  // namespace

Signs SignsOf(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  Signs signs;
  signs.node_lost = IsNodeLost(observed, pod);
  signs.silent = IsSilent(observed, pod, options, now);
  signs.expelled = IsExpelled(observed, pod, options, now);
  signs.overdue = pod.deletion_time && now.wall >= *pod.deletion_time + options.lost_node_grace;
  return signs;
}

std::string Describe(const Signs& signs, const ObservedPod& pod) {
  std::string text;
  const auto add = [&](bool sign, const std::string& words) {
    if (sign) text += (text.empty() ? "" : ", and ") + words;
  };
  add(signs.node_lost, "node " + pod.node + " is not ready");
  add(signs.overdue, "its machine has not confirmed its end in time");
  add(signs.expelled, "the coordinator does not count it any more");
  add(signs.silent, "nothing is heard of its process");
  return text;
}

bool IsOnCordonedNode(const Observed& observed, const ObservedPod& pod) {
  if (!observed.nodes || pod.node.empty()) return false;
  const auto node = observed.nodes->find(pod.node);
  return node != observed.nodes->end() && node->second.cordoned;
}

bool WasDisrupted(const ObservedPod& pod) {
  if (!HasFailed(pod)) return false;
  // The template's own deadline is a result.
  const bool as_a_whole = pod.phase == PodPhase::kFailed && !pod.reason.empty() && pod.reason != "DeadlineExceeded";
  return pod.disruption_target || as_a_whole || pod.container.reason == "ContainerStatusUnknown";
}

}  // namespace attune::controller
