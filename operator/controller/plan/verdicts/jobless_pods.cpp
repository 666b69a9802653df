#include "operator/controller/plan/verdicts/jobless_pods.h"

#include <chrono>
#include <optional>
#include <utility>

namespace attune::controller {
namespace {

// For an orderly end. What a drain takes is for work that others continue, and with the job that work is gone.
constexpr std::chrono::seconds kGraceWithoutJob{10};

// Of one that is on its way out: it was deleted with the grace of a drain.
void LetGo(const ObservedPod& pod, std::string reason, WallTime now, Draft& draft) {
  draft.Release(pod, reason);
  if (*pod.deletion_time > now + kGraceWithoutJob) draft.Hasten(pod, kGraceWithoutJob.count(), std::move(reason));
}

}  // namespace

void EndPods(const std::vector<ObservedPod>& pods, WallTime now, Draft& draft) {
  constexpr char kReason[] = "the job is being deleted";
  for (const ObservedPod& pod : pods) {
    if (pod.index < 0) continue;
    if (IsBeingDeleted(pod)) {
      LetGo(pod, kReason, now, draft);
    } else {
      draft.Remove(pod, kGraceWithoutJob.count(), kReason);
    }
  }
}

void ReleaseAllGoing(const std::vector<ObservedPod>& pods, const std::string& current_job_uid, WallTime now,
                     Draft& draft) {
  for (const ObservedPod& pod : pods) {
    if (pod.index >= 0 && pod.job_uid != current_job_uid && IsBeingDeleted(pod)) {
      LetGo(pod, "its job is gone", now, draft);
    }
  }
}

void RemoveEarlier(const Observed& observed, Draft& draft) {
  for (const ObservedPod& pod : observed.pods) {
    if (observed.earlier_pods.contains(pod.uid)) draft.Remove(pod, std::nullopt, "the job has begun another attempt");
  }
}

}  // namespace attune::controller
