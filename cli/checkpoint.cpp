#include <unistd.h>

#include <cstdio>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/jobs.h"
#include "cli/terminal.h"
#include "cli/waiting.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

// What the coordinator tells of the new one comes with its next report, a moment after its answer.
constexpr Duration kDetailsWithin = std::chrono::seconds(3);

Status Check(const api::TrainingJob& job) {
  if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name + " has ended (" + job.status.phase + "); there is nothing to write");
  }
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

}  // namespace

int Checkpoint(const CheckpointArguments& arguments, const Target& target) {
  auto connection = Connect(target);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key{connection->name_space, arguments.job};
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob before = api::ParseTrainingJob(*object).job;
  if (const Status status = Check(before); !status.ok()) return Fail(status);
  const SystemTime time;
  const MonotonicTime began = time.Now();
  // Differs from any other request: by time, and by process within it.
  const std::string request =
      std::to_string(static_cast<int64_t>(ToUnixSeconds(time.WallNow()) * 1000)) + "-" + std::to_string(getpid());
  const kube::Json patch = {{"metadata", {{"annotations", {{api::kAnnotationCheckpointRequest, request}}}}}};
  const auto patched = connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch);
  if (!patched.ok()) return Fail(Annotate(patched.status(), "asking for a checkpoint of " + key.ToString()));
  Interrupts::Install();
  const auto answered = [&](const api::TrainingJob& seen) {
    return seen.status.checkpoint && seen.status.checkpoint->request == request;
  };
  auto job = WaitForJob(*connection->api, key, std::chrono::seconds(arguments.timeout_seconds), answered);
  if (!job.ok()) return Fail(Annotate(job.status(), "waiting for the checkpoint"));
  if (!job->status.checkpoint->message.empty()) {
    return Fail(
        Error(StatusCode::kFailedPrecondition, "no checkpoint was written: " + job->status.checkpoint->message));
  }
  const double seconds = Seconds(time.Now() - began);
  const api::CheckpointStatus old = before.status.checkpoint.value_or(api::CheckpointStatus());
  if (const auto later = WaitForJob(*connection->api, key, kDetailsWithin,
                                    [&](const api::TrainingJob& seen) {
                                      const auto& checkpoint = seen.status.checkpoint;
                                      return answered(seen) && (checkpoint->number != old.number ||
                                                                checkpoint->directory != old.directory);
                                    });
      later.ok()) {
    *job = *later;
  }
  const api::CheckpointStatus& written = *job->status.checkpoint;
  std::printf("%s at step %llu: %s rows, %s, in %s\n", api::CheckpointName(written).c_str(),
              static_cast<unsigned long long>(written.step),
              api::FormatCount(static_cast<double>(written.rows)).c_str(), api::FormatBytes(written.bytes).c_str(),
              api::FormatSeconds(seconds).c_str());
  return kExitOk;
}

}  // namespace attune::cli
