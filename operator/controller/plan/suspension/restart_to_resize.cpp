#include "operator/controller/plan/suspension/restart_to_resize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "operator/controller/members/move.h"
#include "operator/controller/members/resize_moves.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/requests/checkpoint_interval.h"
#include "operator/controller/plan/suspension/suspension.h"

namespace attune::controller {
namespace {

// Whether all pods of the job, with the sizes that they are to have, find a place once none of them has one.
bool WouldFitAnew(const Observed& observed) {
  std::vector<scheduler::Machine> machines = *observed.machines;
  std::vector<scheduler::Demand> demands;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsOfJob(observed, pod)) continue;
    demands.push_back({.role = ToString(pod.role), .count = 1, .each = pod.requests});
    const auto own = std::ranges::find(machines, pod.node, &scheduler::Machine::name);
    if (own == machines.end()) continue;
    own->free.cpu_cores += pod.requests.cpu_cores;
    own->free.memory_bytes += pod.requests.memory_bytes;
  }
  return scheduler::FindFit(std::move(demands), std::move(machines)).complete();
}

bool WasTriedLately(const Observed& observed, const std::string& why, Now now) {
  const auto& record = observed.job.status.suspension;
  if (!record || record->why != why) return false;
  const auto since = ParseRfc3339(record->since);
  return since && now.wall - *since < kRestartRetry;
}

}  // namespace

void RestartToResize(const Observed& observed, const PlanOptions& options, Now now, Draft& draft) {
  if (!observed.job.spec.run_policy.restart_to_resize || !AsksForRoom(observed) || !HasAllPods(observed)) return;
  if (!CheckpointsOutlastPods(observed.job, options)) return;
  const ObservedPod* pod = PodWithoutRoom(observed, now);
  if (pod == nullptr || !WouldFitAnew(observed)) return;
  const std::string why = DescribeLackOfRoom(*pod);
  if (WasTriedLately(observed, why, now)) return draft.Requeue(kRestartRetry, why);
  RequestRestart(observed, why, now, draft);
}

}  // namespace attune::controller
