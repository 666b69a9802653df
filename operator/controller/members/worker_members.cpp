#include "operator/controller/members/worker_members.h"

#include <algorithm>
#include <vector>

#include "operator/controller/members/move.h"
#include "operator/controller/members/slow_workers.h"

namespace attune::controller {
namespace {

// One that moves may go as soon as another one trains in its place. It is asked to leave in the same plan, and what was
// asked is on the pod.
bool IsLeaving(const Observed& observed, const ObservedPod& worker) {
  return worker.drain_deadline.has_value() || MayGo(observed, worker);
}

// For one that has ended meanwhile no other is made, but the one that was made stays and succeeds it.
bool Moves(const Observed& observed, const ObservedPod& worker) {
  return IsBeingMoved(observed, worker) && (IsAlive(worker) || StandInFor(observed, worker.uid) != nullptr);
}

// The pod that it was made for is there, and stays until this one has begun.
bool StandsIn(const Observed& observed, const ObservedPod& worker) {
  return !worker.stands_in_for.empty() && std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
    return pod.uid == worker.stands_in_for && IsWorkerOf(observed, pod) && !IsLeaving(observed, pod);
  });
}

}  // namespace

Membership MembersOfWorkers(const Observed& observed, const PlanOptions& options, Now now) {
  const int32_t count = std::max(observed.job.spec.workers.replicas, 0);
  const auto existing = std::ranges::count_if(
      observed.pods, [&](const ObservedPod& pod) { return IsWorkerOf(observed, pod) && !IsLeaving(observed, pod); });
  std::vector<Seat> seats;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsWorkerOf(observed, pod)) continue;
    seats.push_back({.index = pod.index,
                     .leaving = IsLeaving(observed, pod),
                     .moves = Moves(observed, pod),
                     .stands_in = StandsIn(observed, pod),
                     .dispensable = existing > count ? DispensableBy(observed, pod, options, now) : 0});
  }
  return MembershipOf(count, std::move(seats));
}

}  // namespace attune::controller
