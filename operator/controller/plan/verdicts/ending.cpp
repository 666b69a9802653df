#include "operator/controller/plan/verdicts/ending.h"

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"

namespace attune::controller {
namespace {

bool IsToBeRemoved(const ObservedPod& pod, api::CleanPods clean) {
  const bool finished = HasEnded(pod);
  if (pod.role == RoleName::kServer && !finished) return true;  // servers end with the job
  switch (clean) {
    case api::CleanPods::kNone:
      return false;
    case api::CleanPods::kRunning:
      return !finished;
    case api::CleanPods::kAll:
      return true;
  }
  return false;
}

void PlanExpiry(const Observed& observed, Now now, Draft& draft) {
  const auto& ttl = observed.job.spec.run_policy.ttl_seconds_after_finished;
  const auto ended = ParseRfc3339(observed.job.status.completion_time);
  if (!ttl || !ended) return;
  const Duration left = *ended + std::chrono::seconds(*ttl) - now.wall;
  if (left > Duration::zero()) {
    draft.Requeue(left, "expiry of the job");
    return;
  }
  draft.Normal(kEventExpired, "DeleteJob",
               "runPolicy.ttlSecondsAfterFinished (" + std::to_string(*ttl) + " s) has passed; deleted the job",
               {draft.DeleteJob("its time to live has passed")});
}

}  // namespace

void PlanEnding(const Observed& observed, Now now, Draft& draft) {
  int removed = 0;
  Draft::Needs removals;
  for (const ObservedPod& pod : observed.pods) {
    if (pod.index < 0 || pod.job_uid != observed.job.uid) continue;
    if (IsToBeRemoved(pod, observed.job.spec.run_policy.clean_pods)) {
      if (!IsBeingDeleted(pod)) ++removed;
      removals = Joined(std::move(removals), draft.Remove(pod, std::nullopt, "the job has ended"));
    } else {
      draft.Release(pod, "the job's outcome is recorded");
    }
  }
  if (removed > 0) {
    draft.Normal(kEventCleanedUp, "DeletePods", "Deleted " + Counted(removed, "pod") + " after the end of the job",
                 removals);
  }
  PlanExpiry(observed, now, draft);
}

}  // namespace attune::controller
