#include "operator/controller/queue/queue_acts.h"

#include <string>
#include <utility>

#include "operator/controller/plan/suspension/suspension.h"
#include "operator/controller/queue/workload.h"
#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

constexpr Duration kLookForKueue = std::chrono::seconds(10);

void Patch(const ObservedWorkload& workload, kube::Json patch, std::string reason, Draft& draft) {
  draft.Create(PatchWorkload{workload.name, std::move(patch), std::move(reason)});
}

void Finish(const Observed& observed, const ObservedWorkload& workload, Now now, Draft& draft) {
  const api::TrainingJobStatus& status = observed.job.status;
  const bool succeeded = api::IsTrue(status, api::kSucceeded);
  const std::string message = api::FindCondition(status, succeeded ? api::kSucceeded : api::kFailed)->message;
  Patch(workload, FinishedPatch(workload, succeeded, message, now.wall), "the job has ended", draft);
}

void Remove(const ObservedWorkload& workload, std::string reason, Draft& draft) {
  draft.Create(DeleteWorkload{workload.name, workload.uid, std::move(reason)});
}

// A Workload that asks for something else than the job does now is made again: what has quota cannot be changed.
void PlanStopped(const Observed& observed, const ObservedWorkload& workload, const PlanOptions& options, Now now,
                 Draft& draft) {
  if (observed.job.spec.suspend) return Remove(workload, "the job is suspended and needs no place", draft);
  if (observed.queue->hold.empty()) return;  // it is about to begin
  if (workload.finished) return Remove(workload, "the job has not ended", draft);
  if (workload.queue != observed.queue->queue) return Remove(workload, "the job names another queue", draft);
  if (workload.shape != ShapeOf(observed.job, options)) return Remove(workload, "the job asks for other pods", draft);
  if (workload.evicted && workload.reserved)
    Patch(workload, ReleasePatch(workload, now.wall), "the job has no pods any more", draft);
}

}  // namespace

void PlanQueue(const Observed& observed, const PlanOptions& options, Now now, Draft& draft) {
  if (!observed.queue) return;
  if (!observed.queue->readable) {
    // That the kind has come, with no object of it yet, is news to no job.
    if (!observed.queue->hold.empty()) draft.Requeue(kLookForKueue, "Kueue's kinds");
    return;
  }
  const auto& workload = observed.queue->workload;
  const api::TrainingJobStatus& status = observed.job.status;
  if (workload && workload->being_deleted) return;
  if (observed.queue->queue.empty()) return Remove(*workload, "the job names no queue any more", draft);
  if (HasEnded(status)) {
    if (workload && !workload->finished) Finish(observed, *workload, now, draft);
    return;
  }
  if (!workload) {
    if (observed.job.spec.suspend) return;
    draft.Create(CreateWorkload{BuildWorkload(observed.job, observed.queue->queue, options),
                                "the job waits for its place in queue " + observed.queue->queue});
    return;
  }
  const bool is_without = IsWithoutPods(status) || IsBornHeld(observed);
  if (is_without && !HasPods(observed)) return PlanStopped(observed, *workload, options, now, draft);
  if (is_without || !workload->admitted || workload->evicted) return;
  const bool ready = api::IsTrue(status, api::kReady);
  if (workload->pods_ready != ready)
    Patch(*workload, PodsReadyPatch(*workload, ready, now.wall), "how far its pods are", draft);
}

}  // namespace attune::controller
