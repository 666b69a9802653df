#include <csignal>
#include <cstdio>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/jobs.h"
#include "cli/terminal.h"

namespace attune::cli {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(300);

bool IsGone(const StatusOr<kube::Json>& job) { return job.status().code() == StatusCode::kNotFound; }

// What is still there: "the job", "2 pods", "" for nothing. A local instance ends with its last job, and everything
// with it.
StatusOr<std::string> Remains(const Connection& connection, const kube::ObjectKey& key) {
  if (connection.instance && kill(*connection.instance, 0) != 0) return std::string();
  const auto job = connection.api->Get(kube::kTrainingJobs, key);
  if (!job.ok() && !IsGone(job)) return job.status();
  const auto pods = GetPods(*connection.api, key);
  if (!pods.ok()) return pods.status();
  if (!pods->empty()) return std::to_string(pods->size()) + (pods->size() == 1 ? " pod" : " pods");
  return std::string(job.ok() ? "the job" : "");
}

}  // namespace

int Stop(const StopArguments& arguments, const Target& target) {
  auto connection = Connect(target);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key{connection->name_space, arguments.job};
  if (const auto job = GetJob(*connection->api, key); !job.ok()) return Fail(job.status());
  if (const Status status = connection->api->Delete(kube::kTrainingJobs, key); !status.ok()) {
    return Fail(Annotate(status, "deleting " + key.ToString()));
  }
  std::printf("stopping %s\n", arguments.job.c_str());
  std::fflush(stdout);
  Interrupts::Install();
  const SystemTime time;
  const MonotonicTime deadline = time.Now() + std::chrono::seconds(arguments.timeout_seconds);
  std::string left = "unknown";
  while (time.Now() < deadline) {
    if (const auto remains = Remains(*connection, key); remains.ok()) {
      left = *remains;
    } else if (!connection->instance) {
      left = std::string(Message(remains.status()));
    }
    if (left.empty()) {
      std::printf("%s is gone, and its pods\n", arguments.job.c_str());
      return kExitOk;
    }
    if (Interrupts::Wait(kLook)) {
      std::fprintf(stderr, "attune: not waiting any longer; %s goes on ending (left: %s)\n", arguments.job.c_str(),
                   left.c_str());
      return kExitInterrupted;
    }
  }
  return Fail(Error(StatusCode::kDeadlineExceeded, "after " + std::to_string(arguments.timeout_seconds) +
                                                       " s there is still " + left + "; look with `attune describe " +
                                                       arguments.job + "`"));
}

}  // namespace attune::cli
