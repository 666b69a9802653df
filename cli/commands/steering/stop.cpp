#include <cstdio>
#include <optional>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/checkpoint_request.h"
#include "cli/runs/jobs.h"
#include "operator/local/instance.h"

namespace attune::cli {
namespace {

constexpr Duration kStopPoll = std::chrono::milliseconds(300);

bool IsGone(const StatusOr<kube::Json>& job) { return job.status().code() == StatusCode::kNotFound; }

// What is still there: "the job", "2 pods", "" for nothing. A local instance ends with its last job, and everything
// with it.
StatusOr<std::string> Remains(const Connection& connection, const kube::ObjectKey& key,
                              const std::string& process_start) {
  if (connection.instance && !local::IsProcess(*connection.instance, process_start)) return std::string();
  const auto job = connection.api->Get(kube::kTrainingJobs, key);
  if (!job.ok() && !IsGone(job)) return job.status();
  const auto pods = GetPods(*connection.api, key);
  if (!pods.ok()) return pods.status();
  if (!pods->empty()) return std::to_string(pods->size()) + (pods->size() == 1 ? " pod" : " pods");
  return std::string(job.ok() ? "the job" : "");
}

// The next Ctrl-C skips it; without one the job is ended all the same, for that is what was asked for.
std::optional<WrittenCheckpoint> WriteLastCheckpoint(const JobConnection& connection) {
  std::printf("stopping %s: writing a checkpoint first; Ctrl-C skips it\n", connection.key.name.c_str());
  std::fflush(stdout);
  auto written =
      WriteCheckpoint(*connection.api, connection.key, {.whole = kLastCheckpointMax, .details = kLastDetails});
  if (written.ok()) {
    std::printf("%s\n", ToString(*written).c_str());
    return *std::move(written);
  }
  std::printf("no checkpoint: %s\n",
              Interrupts::requested() ? "skipped" : std::string(Message(written.status())).c_str());
  return std::nullopt;
}

void PrintHowToContinue(const JobConnection& connection, const WrittenCheckpoint& written) {
  if (!connection.run.empty()) {
    std::printf("  attune resume %s   continues it from the checkpoint\n", connection.run.c_str());
  } else {
    std::printf("  attune run --resume %s FILE   continues it from the checkpoint\n", written.status.directory.c_str());
  }
}

}  // namespace

int Stop(const StopArguments& arguments, const Target& target) {
  auto connection = ConnectToJob(target, arguments.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  Interrupts::Install(kInterruptsToLeave);  // the first skips the checkpoint, the second stops waiting
  std::optional<WrittenCheckpoint> written;
  if (!arguments.without_checkpoint && HasRowsToLose(api::ParseTrainingJob(*object).job))
    written = WriteLastCheckpoint(*connection);
  const int interrupts = Interrupts::count();
  if (const Status status = connection->api->Delete(kube::kTrainingJobs, key); !status.ok()) {
    return Fail(Annotate(status, "deleting " + key.ToString()));
  }
  std::printf("stopping %s\n", key.name.c_str());
  std::fflush(stdout);
  const std::string process_start = connection->instance ? local::ProcessStart(*connection->instance) : "";
  const SystemTime time;
  const MonotonicTime deadline = time.Now() + std::chrono::seconds(arguments.timeout_seconds);
  std::string left = "unknown";
  while (time.Now() < deadline) {
    if (const auto remains = Remains(*connection, key, process_start); remains.ok()) {
      left = *remains;
    } else if (!connection->instance) {
      left = std::string(Message(remains.status()));
    }
    if (left.empty()) {
      std::printf("%s is gone, and its pods\n", key.name.c_str());
      if (written) PrintHowToContinue(*connection, *written);
      return kExitOk;
    }
    if (Interrupts::Wait(kStopPoll, interrupts)) {
      std::fprintf(stderr, "attune: not waiting any longer; %s continues to end (left: %s)\n", key.name.c_str(),
                   left.c_str());
      return kExitInterrupted;
    }
  }
  return Fail(Error(StatusCode::kDeadlineExceeded, "after " + std::to_string(arguments.timeout_seconds) +
                                                       " s there is still " + left + "; look with `attune describe " +
                                                       key.name + "`"));
}

}  // namespace attune::cli
