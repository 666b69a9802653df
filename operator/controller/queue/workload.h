// The Workload by which a job asks Kueue for its place (docs/queues.md): made, changed and read as what Kueue calls an
// external framework. Pure.
#pragma once

#include <string>

#include "operator/api/training_job.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/observe/queue_place.h"
#include "operator/kube/object.h"

namespace attune::controller {

// Carries a part of the job's uid: a successor of that name has another one.
std::string WorkloadName(const api::TrainingJob& job);
// One pod set per role, with as many pods as the spec asks for, or as tuning may choose where it says how many
// (spec.tuning.workers.max), and what they request.
kube::Json BuildWorkload(const api::TrainingJob& job, const std::string& queue, const PlanOptions& options);
// Of the pods that this job has by its spec: a Workload of another shape asks for something else.
std::string ShapeOf(const api::TrainingJob& job, const PlanOptions& options);

// Merge patches of the subresource `status`, of the Workload as it was seen.
kube::Json FinishedPatch(const ObservedWorkload& workload, bool succeeded, const std::string& message, WallTime now);
kube::Json PodsReadyPatch(const ObservedWorkload& workload, bool ready, WallTime now);
// The quota goes back to the queue, where the Workload waits again.
kube::Json ReleasePatch(const ObservedWorkload& workload, WallTime now);

}  // namespace attune::controller
