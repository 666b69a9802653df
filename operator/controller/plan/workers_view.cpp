// The workers of a job, viewed once for all policies (workers.h).
#include <algorithm>

#include "operator/controller/members/worker_members.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/plan/workers.h"

namespace attune::controller {
namespace {

// Of a failure of a worker, as far as is on record.
int32_t HighestNumber(const Observed& observed) {
  int32_t highest = observed.job.status.workers.failed;
  for (const ObservedPod& pod : observed.pods) {
    if (IsWorkerOf(observed, pod)) highest = std::max(highest, pod.failure_number.value_or(0));
  }
  return highest;
}

// Of one that has ended badly.
bool IsUncountedFailure(const Observed& observed, const ObservedPod& pod) {
  return !IsBeingDeleted(pod) && !pod.drain_deadline && !pod.failure_number &&
         MeaningOf(observed, pod).action != api::FailureAction::kIgnore;
}

bool EveryWorkerHasEnded(const Observed& observed) {
  return std::ranges::all_of(observed.pods, [&](const ObservedPod& pod) {
    return !IsWorkerOf(observed, pod) || HasEnded(pod) || IsBeingDeleted(pod);
  });
}

// An exit code of 0 says that a process believes it has done its part. Whether that is so says the coordinator, when it
// is heard after that end; and when it is not heard for long, the servers: they end with the job.
bool HasEndedEarly(const Observed& observed, const ServersView& servers, const ObservedPod& pod,
                   const PlanOptions& options, Now now) {
  if (!HasSucceeded(pod) || IsBeingDeleted(pod) || servers.closed || !servers.begun) return false;
  const v1::JobWindow* window = HeardFromCoordinator(observed, options, now);
  if (window == nullptr) {
    const ObservedPod* host = CoordinatorPod(observed);
    return host != nullptr && IsAlive(*host) && EveryWorkerHasEnded(observed) &&
           HasEndedFor(pod, options.servers_ended_grace, now);
  }
  if (!HasEndedFor(pod, options.word_is_newer, now)) return false;
  if (!servers.goal_reached) return true;
  return window->has_closing() && !window->closing().done() && window->workers() == 0;
}

}  // namespace

bool WorkersView::HasEndedBadly(const ObservedPod& pod) const {
  return HasFailed(pod) || std::ranges::find(ended_early, &pod) != ended_early.end();
}

WorkersView ViewWorkers(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now) {
  WorkersView view;
  view.desired = std::max(observed.job.spec.workers.replicas, 0);
  const Membership members = MembersOfWorkers(observed, options, now);
  view.indices = members.wanted;
  view.by_index.assign(view.indices.size(), nullptr);
  view.stand_in_index = members.stand_in;
  view.marked_failures = view.failures = HighestNumber(observed);
  const WallTime listening_since =
      observed.listening_since ? now.wall - (now.monotonic - *observed.listening_since) : now.wall;
  // Kubelets cut the fractions of a second off: a container of the second in which this operator began came after that.
  constexpr auto kCutOff = std::chrono::seconds(1);
  view.heard_all_along = std::ranges::none_of(observed.pods, [&](const ObservedPod& pod) {
    return IsWorkerOf(observed, pod) && pod.container.started_at &&
           *pod.container.started_at + kCutOff <= listening_since;
  });
  for (const ObservedPod& pod : observed.pods) {
    if (!IsWorkerOf(observed, pod)) continue;
    const bool stands_in = view.stand_in_index == pod.index;
    const auto seat = std::ranges::lower_bound(view.indices, pod.index);
    const bool wanted = seat != view.indices.end() && *seat == pod.index;
    if (stands_in) view.stand_in = &pod;
    if (stands_in) continue;
    if (!wanted || pod.drain_deadline) {
      view.leaving.push_back(&pod);
      continue;
    }
    view.by_index[static_cast<size_t>(seat - view.indices.begin())] = &pod;
    if (HasEndedEarly(observed, servers, pod, options, now)) view.ended_early.push_back(&pod);
    if (view.HasEndedBadly(pod) && IsUncountedFailure(observed, pod)) ++view.failures;
    if (IsBeingDeleted(pod) || view.HasEndedBadly(pod)) continue;
    ++view.existing;
    if (HasSucceeded(pod)) {
      ++view.succeeded;
    } else if (HasStarted(pod)) {
      ++view.running;
      if (pod.ready) ++view.ready;
    }
  }
  std::sort(view.leaving.begin(), view.leaving.end(), [](const auto* a, const auto* b) { return a->index > b->index; });
  return view;
}

}  // namespace attune::controller
