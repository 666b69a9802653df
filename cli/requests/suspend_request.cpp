#include "cli/requests/suspend_request.h"

#include "cli/requests/bad_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"

namespace attune::cli {
namespace {

std::string State(const api::TrainingJob& job) { return job.status.suspension ? job.status.suspension->state : ""; }

Status CheckAlive(const api::TrainingJob& job) { return CheckNotEnded(job, "suspend or continue"); }

Status SetSuspend(kube::Api& api, const kube::ObjectKey& key, bool value) {
  const kube::Json patch = {{"spec", {{"suspend", value}}}};
  return Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch).status(),
                  "changing spec.suspend of " + key.ToString());
}

std::string Place(const api::SuspensionStatus& suspension) {
  if (suspension.directory.empty()) return "its beginning";
  return "checkpoint " + std::to_string(suspension.checkpoint) + " in " + suspension.directory;
}

}  // namespace

bool IsSuspended(const api::TrainingJob& job) { return job.spec.suspend; }

StatusOr<std::string> SuspendJob(kube::Api& api, const kube::ObjectKey& key, Duration timeout) {
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  RETURN_IF_ERROR(CheckAlive(api::ParseTrainingJob(object).job));
  RETURN_IF_ERROR(SetSuspend(api, key, true));
  const auto answered = [](const api::TrainingJob& seen) {
    const bool is_seen = seen.status.observed_generation >= seen.generation;
    return State(seen) == api::kSuspensionSuspended || (is_seen && State(seen) == api::kSuspensionRefused);
  };
  const auto job = WaitForJob(api, key, timeout, answered);
  if (!job.ok()) return Annotate(job.status(), "waiting for the suspension; the operator continues with it");
  const api::SuspensionStatus& suspension = *job->status.suspension;
  if (suspension.state == api::kSuspensionSuspended) {
    return key.name + " is suspended and will continue from " + Place(suspension) + ": attune resume " + key.name;
  }
  RETURN_IF_ERROR(SetSuspend(api, key, false));
  return Error(StatusCode::kFailedPrecondition, "job " + key.name + " continues: " + suspension.message);
}

StatusOr<std::string> ContinueJob(kube::Api& api, const kube::ObjectKey& key) {
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  const api::TrainingJob job = api::ParseTrainingJob(object).job;
  RETURN_IF_ERROR(CheckAlive(job));
  RETURN_IF_ERROR(SetSuspend(api, key, false));
  if (State(job) != api::kSuspensionSuspended && State(job) != api::kSuspensionReleasing) {
    return key.name + " stays as it is";
  }
  return key.name + " continues from " + Place(*job.status.suspension) + ": attune get " + key.name;
}

StatusOr<std::string> RestartJob(kube::Api& api, const kube::ObjectKey& key, Duration timeout) {
  ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
  const api::TrainingJob before = api::ParseTrainingJob(object).job;
  RETURN_IF_ERROR(CheckAlive(before));
  if (IsSuspended(before)) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + key.name + " is suspended; `attune resume " + key.name + "` gives it new pods");
  }
  const std::string request = "id=" + NewRequestId() + " why=a user asks for it";
  const kube::Json patch = {{"metadata", {{"annotations", {{api::kAnnotationRestart, request}}}}}};
  RETURN_IF_ERROR(Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch).status(),
                           "asking for a restart of " + key.ToString()));
  const auto answered = [&](const api::TrainingJob& seen) {
    const auto& suspension = seen.status.suspension;
    if (!suspension || suspension->request != request) return false;
    return suspension->state == api::kSuspensionResumed || suspension->state == api::kSuspensionRefused;
  };
  const auto job = WaitForJob(api, key, timeout, answered);
  if (!job.ok()) return Annotate(job.status(), "waiting for the restart; the operator continues with it");
  const api::SuspensionStatus& suspension = *job->status.suspension;
  const int64_t attempts = before.status.suspension ? before.status.suspension->attempt : 0;
  if (suspension.state == api::kSuspensionResumed && suspension.attempt > attempts) {
    return "all pods of " + key.name + " are made again; it continues from " + Place(suspension);
  }
  return Error(StatusCode::kFailedPrecondition, "job " + key.name + " continues as it is: " + suspension.message);
}

}  // namespace attune::cli
