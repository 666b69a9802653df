#include "operator/controller/members/resize_moves.h"

#include <algorithm>
#include <string>

#include "operator/controller/members/move.h"

namespace attune::controller {
namespace {

bool WaitsForRoom(const ObservedPod& pod) {
  return IsAlive(pod) && (pod.resize.state == ResizeState::kInfeasible || pod.resize.state == ResizeState::kDeferred);
}

// What is left of the minute; all of it where it is not known since when the pod waits.
Duration TimeLeft(const ObservedPod& pod, Now now) {
  if (pod.resize.state == ResizeState::kInfeasible) return Duration::zero();
  if (!pod.resize.since) return kRoomWait;
  return std::clamp<Duration>(*pod.resize.since + kRoomWait - now.wall, Duration::zero(), kRoomWait);
}

// The one with the most cores left for it. A pod's requests have the new size since it was asked for.
const scheduler::Machine* MachineFor(const Observed& observed, const ObservedPod& pod) {
  const scheduler::Machine* best = nullptr;
  for (const scheduler::Machine& machine : *observed.machines) {
    const bool has_room = machine.name != pod.node && machine.free.cpu_cores >= pod.requests.cpu_cores &&
                          machine.free.memory_bytes >= pod.requests.memory_bytes;
    if (has_room && (best == nullptr || machine.free.cpu_cores > best->free.cpu_cores)) best = &machine;
  }
  return best;
}

}  // namespace

bool AsksForRoom(const Observed& observed) {
  const api::TuningMode mode = observed.job.spec.tuning.mode;
  if (mode == api::TuningMode::kAuto || mode == api::TuningMode::kInPlaceOnly) return false;
  return std::ranges::any_of(observed.pods, WaitsForRoom);
}

void FollowResizes(const Observed& observed, const MoveFacts& facts, Now now, Draft& draft) {
  if (!AsksForRoom(observed) || !observed.machines || !facts.begun || facts.ends || !HasAllPods(observed)) return;
  for (const ObservedPod& pod : observed.pods) {
    if (!WaitsForRoom(pod) || (!IsWorkerOf(observed, pod) && !(IsServerOf(observed, pod) && facts.elastic))) continue;
    if (const Duration left = TimeLeft(pod, now); left > Duration::zero()) {
      draft.Requeue(left, "room for " + pod.name);
      continue;
    }
    const scheduler::Machine* machine = MachineFor(observed, pod);
    if (machine == nullptr) continue;
    const std::string why = DescribeLackOfRoom(pod);
    if (IsTooSoonAgain(observed, why, now)) {
      draft.Requeue(kMoveRetry, why);
    } else if (RequestMove(observed, pod, machine->name, why, now, draft)) {
      return;
    }
  }
}

const ObservedPod* PodWithoutRoom(const Observed& observed, Now now) {
  if (!observed.machines) return nullptr;
  const auto found = std::ranges::find_if(observed.pods, [&](const ObservedPod& pod) {
    const bool is_ours = IsWorkerOf(observed, pod) || IsServerOf(observed, pod);
    return is_ours && WaitsForRoom(pod) && TimeLeft(pod, now) <= Duration::zero() &&
           MachineFor(observed, pod) == nullptr;
  });
  return found == observed.pods.end() ? nullptr : &*found;
}

std::string DescribeLackOfRoom(const ObservedPod& pod) {
  return Describe(ShownOf(pod.resize.asked)) + " has no room on " + pod.node;
}

}  // namespace attune::controller
