// `attune resume RUN`: another run of the same, beginning with the newest checkpoint that the first one left.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/requests/suspend_request.h"
#include "cli/runs/checkpoint_lookup.h"
#include "cli/runs/jobs.h"
#include "cli/runs/run_store.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

Status CheckResumable(const RunRecord& run) {
  if (run.outcome == RunOutcome::kRunning) {
    return Error(StatusCode::kFailedPrecondition, "run " + run.name + " has not ended; there is nothing to continue");
  }
  if (run.outcome == RunOutcome::kSucceeded) {
    return Error(StatusCode::kFailedPrecondition,
                 "run " + run.name +
                     " has reached its goal; for more, raise spec.goal in the manifest and begin with "
                     "a checkpoint: `attune run --resume DIR FILE`");
  }
  if (run.jobs.size() != 1) {
    return Error(StatusCode::kFailedPrecondition,
                 "run " + run.name + " has " + std::to_string(run.jobs.size()) +
                     " jobs; write spec.checkpoint.resumeFrom into each of them in the manifest and run it");
  }
  std::error_code error;
  if (!fs::exists(fs::path(run.directory) / kRunManifest, error)) {
    return Error(StatusCode::kFailedPrecondition,
                 "run " + run.name + " kept no manifest (an older attune made it): `attune run --resume DIR FILE`");
  }
  return OkStatus();
}

// Paths in the manifest are relative to where the first run was started.
Status GoTo(const RunRecord& run) {
  if (run.working_directory.empty()) return OkStatus();
  std::error_code error;
  fs::current_path(run.working_directory, error);
  if (!error) return OkStatus();
  return Error(StatusCode::kFailedPrecondition, "run " + run.name + " was started in " + run.working_directory +
                                                    ", which cannot be entered: " + error.message());
}

// Paths that were typed now are relative to here.
std::string Absolute(const std::string& path) {
  std::error_code error;
  return path.empty() || path == "-" ? path : fs::absolute(path, error).lexically_normal().string();
}

// The newest of the only job; what it says of itself says which that is.
StatusOr<RunRecord> FindOnlyRun() {
  ASSIGN_OR_RETURN(const OnlyRun only, ChooseOnlyRun(ListRuns()));
  SayWhichJob(only.job + ", run " + only.run.name);
  return only.run;
}

// A job that is there and suspended comes before runs that have ended.
std::optional<JobConnection> FindSuspended(const ResumeArguments& arguments, const Target& target) {
  if (arguments.run.empty() || arguments.run.find('/') != std::string::npos) return std::nullopt;
  auto connection = ConnectToJob(target, arguments.run, Purpose::kSteer);
  if (!connection.ok()) return std::nullopt;
  const auto object = GetJob(*connection->api, connection->key);
  if (!object.ok() || !IsSuspended(api::ParseTrainingJob(*object).job)) return std::nullopt;
  return *std::move(connection);
}

int ContinueSuspended(const JobConnection& connection) {
  const auto done = ContinueJob(*connection.api, connection.key);
  if (!done.ok()) return Fail(done.status());
  std::printf("%s\n", done->c_str());
  return kExitOk;
}

}  // namespace

int Resume(const ResumeArguments& arguments, const Target& target) {
  if (auto connection = FindSuspended(arguments, target)) return ContinueSuspended(*connection);
  if (WantsCluster(target)) {
    return Fail(Error(StatusCode::kInvalidArgument,
                      "resume continues suspended jobs, and runs of this machine that ended; another job from a "
                      "checkpoint: `attune run --resume DIR FILE`"));
  }
  const auto run = arguments.run.empty() ? FindOnlyRun() : FindRun(arguments.run);
  if (!run.ok()) return Fail(run.status());
  if (const Status status = CheckResumable(*run); !status.ok()) return Fail(status);
  const auto checkpoint = FindCheckpointOf(*run, arguments.with.resume_best);
  if (!checkpoint.ok()) return Fail(checkpoint.status());
  RunArguments again = arguments.with;
  again.file = (fs::path(run->directory) / kRunManifest).string();
  again.resume = checkpoint->string();
  again.resumed_from = run->name;
  again.run_directory = Absolute(again.run_directory);
  again.report = Absolute(again.report);
  if (again.tune.empty()) again.tune = run->tune;
  if (again.cores.empty()) again.cores = run->cores;
  if (again.tags.empty()) again.tags = run->tags;
  Target same = target;
  if (same.name_space.empty()) same.name_space = run->name_space;
  if (const Status status = GoTo(*run); !status.ok()) return Fail(status);
  if (!again.json) {
    std::printf("continuing run %s from its %scheckpoint in %s\n", run->name.c_str(), again.resume_best ? "best " : "",
                checkpoint->c_str());
    std::fflush(stdout);
  }
  return Run(again, same);
}

}  // namespace attune::cli
