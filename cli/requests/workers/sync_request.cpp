#include "cli/requests/workers/sync_request.h"

#include "cli/requests/bad_request.h"

namespace attune::cli {

Status CheckSynchronization(const api::TrainingJob& job, SyncMode wanted) {
  RETURN_IF_ERROR(CheckNotEnded(job, "switch"));
  if (job.status.abilities && !job.status.abilities->synchronization_modes && wanted.bounded()) {
    return Error(StatusCode::kFailedPrecondition,
                 "the servers of job " + job.name +
                     " cannot switch the mode (status.abilities.synchronizationModes is false); it stays Async");
  }
  return OkStatus();
}

kube::Json SynchronizationPatch(SyncMode wanted) {
  return {{"spec", {{"synchronization", api::SynchronizationFields(wanted)}}}};
}

}  // namespace attune::cli
