#include "operator/controller/plan/evidence.h"

#include <algorithm>

#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/standstill.h"
#include "proto/pod_number.h"

namespace attune::controller {
namespace {

// A process that has reported so many windows, of a second at least, has joined long ago.
constexpr uint64_t kWindowsOfAMember = 20;

// An operator that has just begun, or was paused, has not listened: its own silence is no sign.
bool IsSilentFor(const Observed& observed, const ObservedPod& pod, Duration silence, Duration never_heard, Now now) {
  if (!observed.listening_since) return false;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  if (sample == nullptr) {
    // A process that has only just started has not had the time to report. A start in the future comes from a clock
    // that differs from this one, and is ignored.
    const auto& started = pod.container.started_at;
    const bool just_begun = started && now.wall >= *started && now.wall - *started < never_heard;
    return !just_begun && now.monotonic - *observed.listening_since >= never_heard;
  }
  return now.monotonic - std::max(sample->heard_at, *observed.listening_since) >= silence;
}

bool IsSilent(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  return IsSilentFor(observed, pod, options.lost_silence, options.never_heard_silence, now);
}

bool IsNodeLost(const Observed& observed, const ObservedPod& pod) {
  if (!observed.nodes || pod.node.empty()) return false;
  const auto node = observed.nodes->find(pod.node);
  return node == observed.nodes->end() || !node->second.ready;
}

bool IsNamedLost(const v1::JobWindow& window, const ObservedPod& pod) {
  return std::ranges::find(window.lost_pods(), contract::PodNumber(pod.uid)) != window.lost_pods().end();
}

// A process that is named has been lost. One that is merely missing from the list of servers, after a coordinator that
// knew more was lost, must have been a member: it may be about to join. Of workers there is no such list, and one that
// has left by itself may continue computing.
bool IsExpelled(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  const v1::JobWindow* window = CurrentWindow(observed);
  const ObservedPod* coordinator = CoordinatorPod(observed);
  if (window == nullptr || coordinator == nullptr || IsSilent(observed, *coordinator, options, now)) return false;
  if (IsNamedLost(*window, pod)) return true;
  if (pod.role != RoleName::kServer) return false;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  const bool has_joined = sample != nullptr && sample->window.sequence() >= kWindowsOfAMember;
  return has_joined && !window->server_states().empty() && !StateOf(*window, pod.index);
}

// One that was stopped itself reports a window as long as its pause, and has heard no messages meanwhile.
bool WasStopped(const telemetry::PodSample& sample, const PlanOptions& options) {
  return sample.window.duration_seconds() > Seconds(options.heard_within);
}

bool SaysThatItMisses(const telemetry::PodSample& sample, const PlanOptions& options) {
  return telemetry::MissesCoordinator(sample.window) && !WasStopped(sample, options);
}

// Of workers only: a server that has lost the coordinator may have the only copy of rows.
bool IsAstray(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  const ObservedPod* coordinator = CoordinatorPod(observed);
  if (pod.role != RoleName::kWorker || coordinator == nullptr || CurrentWindow(observed) == nullptr) return false;
  if (!IsHeard(observed, pod, options, now) || !IsHeard(observed, *coordinator, options, now)) return false;
  const v1::WindowReport& of_coordinator = SampleOf(observed, *coordinator)->window;
  if (of_coordinator.has_leader_lease() && !of_coordinator.leader_lease().held()) return false;
  const telemetry::PodSample& sample = *SampleOf(observed, pod);
  return sample.window.worker().coordinator_silent_seconds() >= Seconds(options.astray_after) &&
         !WasStopped(sample, options);
}

// Of the coordinator that published a map (ps/core/protocol/ids.h, MapVersion).
uint64_t TermOf(uint64_t map_version) { return map_version >> 32; }

void LookAtOthers(const Observed& observed, const ObservedPod& coordinator, const PlanOptions& options, Now now,
                  CoordinatorSigns& signs) {
  size_t heard = 0;
  for (const ObservedPod& pod : observed.pods) {
    const bool other = pod.role == RoleName::kServer && pod.index >= 0 && pod.job_uid == observed.job.uid &&
                       pod.uid != coordinator.uid;
    if (!other || !IsAlive(pod)) continue;
    const bool newer = MapVersionOf(observed, pod) > MapVersionOf(observed, coordinator);
    const bool is_heard = IsHeard(observed, pod, options, now);
    // Of one that is not heard any more only a later coordinator's map counts: the coordinator that is followed now may
    // have published its last map to no member.
    const bool later_term = TermOf(MapVersionOf(observed, pod)) > TermOf(MapVersionOf(observed, coordinator));
    signs.newer_map = signs.newer_map || (is_heard ? newer : later_term);
    // One that has no map has not joined yet: it has never heard the coordinator, which says nothing about that one.
    const bool has_joined = MapVersionOf(observed, pod) > 0 || MapVersionOf(observed, coordinator) == 0;
    if (!is_heard || !has_joined) continue;
    ++heard;
    const bool misses = SaysThatItMisses(*SampleOf(observed, pod), options);
    if (misses) signs.missed_by.push_back(&pod);
    if (newer && (misses || CurrentWindow(observed) == nullptr)) signs.ahead.push_back(&pod);
  }
  if (2 * signs.missed_by.size() < heard) signs.missed_by.clear();
}

}  // namespace

const telemetry::PodSample* SampleOf(const Observed& observed, const ObservedPod& pod) {
  const auto& samples = observed.sample.pods;
  const auto found = std::ranges::find_if(samples, [&](const telemetry::PodSample& sample) {
    return sample.pod == pod.name && (sample.pod_uid.empty() || sample.pod_uid == pod.uid);
  });
  return found == samples.end() ? nullptr : &*found;
}

bool IsDeclaredLost(const Observed& observed, const ObservedPod& pod) {
  return observed.sample.job && IsNamedLost(*observed.sample.job, pod);
}

uint64_t MapVersionOf(const Observed& observed, const ObservedPod& pod) {
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  if (sample == nullptr) return 0;
  return std::max(sample->window.server().map_version(), sample->window.leader_lease().map_version());
}

bool IsUnheardFor(const Observed& observed, const ObservedPod& pod, Duration time, Now now) {
  return IsSilentFor(observed, pod, time, time, now);
}

std::optional<MonotonicTime> ReportedAt(const Observed& observed, const ObservedPod& pod) {
  constexpr Duration kQueueArrives = std::chrono::seconds(1);
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  if (sample == nullptr || sample->window.sequence() == 0) return std::nullopt;
  if (observed.listening_since && sample->reported_at <= *observed.listening_since + kQueueArrives) return std::nullopt;
  return sample->reported_at;
}

bool IsHeard(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  return sample != nullptr && sample->connected && sample->window.sequence() > 0 &&
         now.monotonic - sample->reported_at <= options.heard_within;
}

const v1::JobWindow* HeardFromCoordinator(const Observed& observed, const PlanOptions& options, Now now) {
  const ObservedPod* host = CoordinatorPod(observed);
  if (host == nullptr || !IsAlive(*host) || !IsHeard(observed, *host, options, now)) return nullptr;
  return ReportedAt(observed, *host) ? CurrentWindow(observed) : nullptr;
}

CoordinatorSigns SignsOfCoordinator(const Observed& observed, const ObservedPod& pod, Duration silence,
                                    const PlanOptions& options, Now now) {
  CoordinatorSigns signs;
  signs.silent = IsSilentFor(observed, pod, silence, std::max(silence, options.coordinator_never_heard), now);
  signs.node_lost = IsNodeLost(observed, pod);
  if (const telemetry::PodSample* sample = SampleOf(observed, pod);
      sample != nullptr && sample->window.has_leader_lease()) {
    signs.without_lease = !sample->window.leader_lease().held();
    signs.supporters = static_cast<size_t>(sample->window.leader_lease().wanted_voters_size());
  }
  LookAtOthers(observed, pod, options, now, signs);
  return signs;
}

std::string Describe(const CoordinatorSigns& signs) {
  std::string text;
  const auto add = [&](bool sign, const std::string& words) {
    if (sign) text += (text.empty() ? "" : ", ") + words;
  };
  add(signs.silent, "nothing is heard of its process");
  add(signs.node_lost, "its node is not ready");
  add(!signs.silent && signs.without_lease, "too few servers support it");
  for (const ObservedPod* pod : signs.missed_by) add(true, pod->name + " does not hear it");
  return text;
}

Signs SignsOf(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  Signs signs;
  signs.node_lost = IsNodeLost(observed, pod);
  signs.silent = IsSilent(observed, pod, options, now);
  signs.expelled = IsExpelled(observed, pod, options, now);
  signs.overdue = pod.deletion_time && now.wall >= *pod.deletion_time + options.lost_node_grace;
  signs.astray = IsAstray(observed, pod, options, now);
  signs.stalls = IsBeingRestarted(observed, pod, options, now);
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
  add(signs.stalls, "the job has waited for it for longer than runPolicy.progressDeadlineSeconds");
  add(signs.astray, "it has had no message from the coordinator for long, which is heard");
  return text;
}

bool IsOnCordonedNode(const Observed& observed, const ObservedPod& pod) {
  if (!observed.nodes || pod.node.empty()) return false;
  const auto node = observed.nodes->find(pod.node);
  return node != observed.nodes->end() && node->second.cordoned;
}

bool IsProvenEnded(const ObservedPod& pod) {
  // A kubelet that has lost sight of a container says so with this reason.
  return pod.container.state == RoleContainer::State::kTerminated && pod.container.reason != "ContainerStatusUnknown";
}

bool WasDisrupted(const ObservedPod& pod) {
  if (!HasFailed(pod)) return false;
  // The template's own deadline is a result.
  const bool as_a_whole = pod.phase == PodPhase::kFailed && !pod.reason.empty() && pod.reason != "DeadlineExceeded";
  return pod.disruption_target || as_a_whole || pod.container.reason == "ContainerStatusUnknown";
}

}  // namespace attune::controller
