#include "operator/controller/standstill.h"

#include <algorithm>

#include "operator/controller/directives.h"
#include "operator/controller/evidence.h"
#include "operator/controller/servers.h"

namespace attune::controller {
namespace {

bool IsOurs(const Observed& observed, const ObservedPod& pod) {
  return pod.index >= 0 && pod.job_uid == observed.job.uid && IsAlive(pod) && !pod.drain_deadline &&
         !pod.draining_since;
}

bool HasReported(const telemetry::PodSample* sample) { return sample != nullptr && sample->window.sequence() > 0; }

// Of one that has reported before: another one may be reading its data still.
bool IsSilent(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  return HasReported(SampleOf(observed, pod)) && IsUnheardFor(observed, pod, options.standstill_after, now);
}

Duration LongestStep(const Observed& observed) {
  double seconds = 0;
  for (const telemetry::PodSample& sample : observed.sample.pods) seconds = std::max(seconds, sample.step_seconds_max);
  constexpr double kHour = 3600;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, kHour)));
}

Duration UsualAtMost(const Observed& observed, const PlanOptions& options) {
  constexpr int kTimesTheLongest = 3;
  return std::max<Duration>(options.standstill_after, kTimesTheLongest * LongestStep(observed));
}

// Before the first step and after the goal no step ends.
bool IsTraining(const Observed& observed) {
  const auto& window = observed.sample.job;
  return observed.sample.progressed_at && !api::IsTrue(observed.job.status, kGoalReached) &&
         !(window && window->goal_reached());
}

const ObservedPod* SlowestWorker(const Observed& observed) {
  const v1::JobWindow* window = CurrentWindow(observed);
  if (window == nullptr || !window->has_slowest_worker()) return nullptr;
  const auto found = std::ranges::find_if(observed.pods, [&](const ObservedPod& pod) {
    return IsOurs(observed, pod) && pod.role == RoleName::kWorker &&
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

}  // namespace

Standstill StandstillOf(const Observed& observed, const PlanOptions& options, Now now) {
  Standstill standstill;
  if (!observed.listening_since || !observed.job.status.begun) return standstill;
  bool any_heard = false;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsOurs(observed, pod)) continue;
    any_heard = any_heard || IsHeard(observed, pod, options, now);
    if (IsSilent(observed, pod, options, now)) standstill.silent.push_back(&pod);
  }
  if (!any_heard) return {};
  if (!IsTraining(observed)) return standstill;
  const MonotonicTime since = std::max(*observed.sample.progressed_at, *observed.listening_since);
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
  const int64_t deadline = observed.job.spec.run_policy.progress_deadline_seconds;
  if (deadline == 0) return false;
  const Standstill standstill = StandstillOf(observed, options, now);
  return standstill.since && now.monotonic - *standstill.since >= std::chrono::seconds(deadline) &&
         std::ranges::find(standstill.waited_for, &pod) != standstill.waited_for.end();
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
