// Asking a job to switch its synchronization mode. Pure.
#pragma once

#include "base/status.h"
#include "base/sync_mode.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// FailedPrecondition when the job has ended, or runs with servers that cannot switch.
Status CheckSynchronization(const api::TrainingJob& job, SyncMode wanted);
// Merge patch of the job.
kube::Json SynchronizationPatch(SyncMode wanted);

}  // namespace attune::cli
