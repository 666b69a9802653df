// "bsp", "ssp:4", "async". Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// InvalidArgument says what is possible.
StatusOr<api::Synchronization> ParseSynchronization(const std::string& text);
// FailedPrecondition when the job has ended, or runs with servers that cannot switch.
Status CheckSynchronization(const api::TrainingJob& job, const api::Synchronization& wanted);
// Merge patch of the job.
kube::Json SynchronizationPatch(const api::Synchronization& wanted);

}  // namespace attune::cli
