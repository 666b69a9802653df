#include "cli/requests/checkpoint_request.h"

#include <algorithm>

#include "cli/requests/bad_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"
#include "operator/api/format.h"

namespace attune::cli {

Status CheckCheckpoint(const api::TrainingJob& job) {
  RETURN_IF_ERROR(CheckNotEnded(job, "write"));
  if (!job.status.abilities) {
    return Error(StatusCode::kFailedPrecondition, "job " + job.name + " has not begun; there is nothing to write yet");
  }
  if (!job.status.abilities->checkpoints) {
    return Error(StatusCode::kFailedPrecondition,
                 "the servers of job " + job.name +
                     " cannot write checkpoints while it runs (status.abilities.checkpoints is false)");
  }
  return OkStatus();
}

bool HasRowsToLose(const api::TrainingJob& job) {
  const bool trained = job.status.progress && job.status.progress->fraction > 0;
  return CheckCheckpoint(job).ok() && job.status.begun && trained && !job.being_deleted;
}

StatusOr<WrittenCheckpoint> WriteCheckpoint(kube::Api& api, const kube::ObjectKey& key, const CheckpointWait& wait) {
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  const api::TrainingJob before = api::ParseTrainingJob(object).job;
  RETURN_IF_ERROR(CheckCheckpoint(before));
  const SystemTime time;
  const MonotonicTime began = time.Now();
  const std::string request = NewRequestId();
  const kube::Json patch = {{"metadata", {{"annotations", {{api::kAnnotationCheckpointRequest, request}}}}}};
  RETURN_IF_ERROR(Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch).status(),
                           "asking for a checkpoint of " + key.ToString()));
  const auto answered = [&](const api::TrainingJob& seen) {
    return seen.status.checkpoint && seen.status.checkpoint->request == request;
  };
  auto job = WaitForJob(api, key, wait.whole, answered, wait.interrupts_seen);
  if (!job.ok()) return Annotate(job.status(), "waiting for the checkpoint");
  if (!job->status.checkpoint->message.empty()) {
    return Error(StatusCode::kFailedPrecondition, "no checkpoint was written: " + job->status.checkpoint->message);
  }
  const double seconds = Seconds(time.Now() - began);
  const api::CheckpointStatus old = before.status.checkpoint.value_or(api::CheckpointStatus());
  const auto is_new = [&](const api::TrainingJob& seen) {
    const auto& checkpoint = seen.status.checkpoint;
    return answered(seen) && (checkpoint->number != old.number || checkpoint->directory != old.directory);
  };
  const Duration left = std::max<Duration>(began + wait.whole - time.Now(), Duration::zero());
  if (const auto later = WaitForJob(api, key, std::min(wait.details, left), is_new, wait.interrupts_seen); later.ok())
    *job = *later;
  return WrittenCheckpoint{*job->status.checkpoint, seconds, is_new(*job)};
}

std::string ToString(const WrittenCheckpoint& written) {
  if (!written.known) return "a checkpoint was written, in " + api::FormatSeconds(written.seconds);
  return api::CheckpointName(written.status) + " at step " + std::to_string(written.status.step) + ": " +
         api::FormatCount(static_cast<double>(written.status.rows)) + " rows, " +
         api::FormatBytes(written.status.bytes) + ", in " + api::FormatSeconds(written.seconds);
}

}  // namespace attune::cli
