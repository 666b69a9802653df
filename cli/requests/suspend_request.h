// Asking a job to give its machines back, to continue, or to have all its pods made again, and waiting for what comes
// of it (docs/checkpoints.md).
#pragma once

#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

// Each gives the line for the user when it is done. FailedPrecondition when the job has ended, or when it cannot be:
// with the operator's reason; a request that was refused is withdrawn.
StatusOr<std::string> SuspendJob(kube::Api& api, const kube::ObjectKey& key, Duration timeout);
StatusOr<std::string> ContinueJob(kube::Api& api, const kube::ObjectKey& key);
StatusOr<std::string> RestartJob(kube::Api& api, const kube::ObjectKey& key, Duration timeout);

// spec.suspend is set.
bool IsSuspended(const api::TrainingJob& job);

}  // namespace attune::cli
