#include "operator/controller/plan/standstill.h"

#include <algorithm>

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/servers.h"
#include "proto/pod_number.h"

namespace attune::controller {
namespace {

// A process of the job that was not asked to leave.
bool IsToWork(const Observed& observed, const ObservedPod& pod) {
  return (IsServerOf(observed, pod) || IsWorkerOf(observed, pod)) && IsAlive(pod) && !pod.drain_deadline &&
         !pod.draining_since;
}

bool HasReported(const telemetry::PodSample* sample) { return sample != nullptr && sample->window.sequence() > 0; }

// Of one that has reported before: another one may be reading its data still.
bool HasGoneSilent(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  return HasReported(SampleOf(observed, pod)) && IsUnheardFor(observed, pod, options.standstill_after, now);
}

Duration LongestStep(const Observed& observed) {
  double seconds = 0;
  for (const telemetry::PodSample& sample : observed.sample.pods) seconds = std::max(seconds, sample.step_seconds_max);
  constexpr double kHour = 3600;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, kHour)));
}

// By an operator that has seen no step end, for it has just begun, a minute is taken for a step that is usual.
Duration UsualAtMost(const Observed& observed, const PlanOptions& options) {
  constexpr int kTimesTheLongest = 3;
  constexpr Duration kOfUnknownSteps = std::chrono::minutes(1);
  if (!observed.sample.progressed_at) return std::max<Duration>(options.standstill_after, kOfUnknownSteps);
  return std::max<Duration>(options.standstill_after, kTimesTheLongest * LongestStep(observed));
}

// Before the first step and after the goal no step ends. That there were steps before this operator began, the
// coordinator says.
bool IsTraining(const Observed& observed) {
  const auto& window = observed.sample.job;
  const bool any_step = observed.sample.progressed_at || (window && window->steps() > 0);
  return any_step && !api::IsTrue(observed.job.status, kGoalReached) && !(window && window->goal_reached());
}

const ObservedPod* SlowestWorker(const Observed& observed) {
  const v1::JobWindow* window = CurrentWindow(observed);
  if (window == nullptr || !window->has_slowest_worker()) return nullptr;
  const auto found = std::ranges::find_if(observed.pods, [&](const ObservedPod& pod) {
    return IsToWork(observed, pod) && pod.role == RoleName::kWorker &&
           pod.index == static_cast<int64_t>(window->slowest_worker());
  });
  return found == observed.pods.end() ? nullptr : &*found;
}

std::string Names(const std::vector<const ObservedPod*>& pods) {
  constexpr size_t kNamedMax = 4;
  std::string text;
  for (size_t i = 0; i < std::min(pods.size(), kNamedMax); ++i) {
    const bool last = i + 1 == pods.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + pods[i]->name;
  }
  if (pods.size() > kNamedMax) text += " and " + std::to_string(pods.size() - kNamedMax) + " more";
  return text + (pods.size() == 1 ? " is" : " are");
}

// Since the last restart for this the deadline has not passed once more.
bool IsJustRestarted(const Observed& observed, Now now) {
  const auto& known = observed.job.status.standstill;
  const auto at = known ? ParseRfc3339(known->restarted_at) : std::nullopt;
  return at && now.wall - *at < std::chrono::seconds(observed.job.spec.run_policy.progress_deadline_seconds);
}

std::vector<const ObservedPod*> WaitedForTooLong(const Observed& observed, const PlanOptions& options, Now now) {
  const int64_t deadline = observed.job.spec.run_policy.progress_deadline_seconds;
  if (deadline == 0 || IsJustRestarted(observed, now)) return {};
  const Standstill standstill = StandstillOf(observed, options, now);
  if (!standstill.since || now.monotonic - *standstill.since < std::chrono::seconds(deadline)) return {};
  return standstill.waited_for;
}

}  // namespace

Standstill StandstillOf(const Observed& observed, const PlanOptions& options, Now now) {
  Standstill standstill;
  if (!observed.listening_since || !observed.job.status.begun) return standstill;
  bool any_heard = false;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsToWork(observed, pod)) continue;
    any_heard = any_heard || IsHeard(observed, pod, options, now);
    if (HasGoneSilent(observed, pod, options, now)) standstill.silent.push_back(&pod);
  }
  if (!any_heard) return {};
  if (!IsTraining(observed)) return standstill;
  const MonotonicTime listening = *observed.listening_since;
  const MonotonicTime since = std::max(observed.sample.progressed_at.value_or(listening), listening);
  if (now.monotonic - since < UsualAtMost(observed, options)) return standstill;
  standstill.since = since;
  standstill.waited_for = standstill.silent;
  if (const ObservedPod* slowest = SlowestWorker(observed); slowest != nullptr && standstill.silent.empty()) {
    standstill.waited_for.push_back(slowest);
  }
  return standstill;
}

std::string Describe(const Standstill& standstill) {
  if (!standstill.any()) return "";
  if (!standstill.since) return Names(standstill.silent) + " not heard of, while the others train";
  if (!standstill.silent.empty()) return "no step ends: " + Names(standstill.silent) + " not heard of";
  if (!standstill.waited_for.empty()) return "no step ends: " + Names(standstill.waited_for) + " waited for";
  return "no step ends, though every process reports";
}

bool IsWaitedForTooLong(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  const std::vector<const ObservedPod*> pods = WaitedForTooLong(observed, options, now);
  return std::ranges::find(pods, &pod) != pods.end();
}

std::vector<const ObservedPod*> DueForRestart(const Observed& observed, const ServersView& servers,
                                              const PlanOptions& options, Now now) {
  std::vector<const ObservedPod*> pods = WaitedForTooLong(observed, options, now);
  std::erase_if(pods, [&](const ObservedPod* pod) {
    const bool is_server = pod->role == RoleName::kServer;
    return is_server && (!servers.survivable || pod->name == observed.job.status.coordinator);
  });
  return pods;
}

bool IsBeingRestarted(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  const auto& known = observed.job.status.standstill;
  if (!known || std::ranges::find(known->pods, contract::PodNumber(pod.uid)) == known->pods.end()) return false;
  const Standstill standstill = StandstillOf(observed, options, now);
  return standstill.since && std::ranges::find(standstill.waited_for, &pod) != standstill.waited_for.end();
}

bool HasRecoveredFromStandstill(const Observed& observed, const PlanOptions& options, Now now) {
  const auto& progressed_at = observed.sample.progressed_at;
  if (!observed.job.status.standstill || !progressed_at) return false;
  return now.monotonic - *progressed_at < UsualAtMost(observed, options) && !IsJustRestarted(observed, now);
}

std::optional<Verdict> JudgeStandstill(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                       Now now) {
  const int32_t restarts = observed.job.status.standstill ? observed.job.status.standstill->restarts : 0;
  const int32_t limit = observed.job.spec.run_policy.backoff_limit;
  const std::vector<const ObservedPod*> pods = DueForRestart(observed, servers, options, now);
  if (pods.empty() || restarts < limit) return std::nullopt;
  const std::string deadline = std::to_string(observed.job.spec.run_policy.progress_deadline_seconds);
  return Verdict{false, kReasonProgressDeadline,
                 "no step has ended for " + deadline + " s (runPolicy.progressDeadlineSeconds): " + Names(pods) +
                     " waited for, after " + Counted(restarts, "restart") +
                     " in a row for the same reason, and runPolicy.backoffLimit allows " + Counted(limit, "restart") +
                     ". A program that stops at the same place each time waits for something that does not come, such "
                     "as a lock or "
                     "another worker: look at its log (`attune logs " +
                     observed.job.name +
                     "`). Where a step may take so long, "
                     "raise runPolicy.progressDeadlineSeconds." +
                     HowToResume(observed)};
}

Duration LookAgainAt(const Observed& observed, const PlanOptions& options, Now now) {
  constexpr Duration kLeast = std::chrono::milliseconds(500), kAtLeastEvery = std::chrono::seconds(10);
  Duration left = kAtLeastEvery;
  const auto consider = [&](MonotonicTime due) {
    if (due > now.monotonic) left = std::min(left, due - now.monotonic);
  };
  if (observed.sample.progressed_at) consider(*observed.sample.progressed_at + UsualAtMost(observed, options));
  for (const telemetry::PodSample& sample : observed.sample.pods) {
    consider(sample.reported_at + options.standstill_after);
  }
  return std::max(left, kLeast);
}

}  // namespace attune::controller
