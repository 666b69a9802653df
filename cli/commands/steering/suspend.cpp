// `attune suspend JOB` and `attune restart JOB`. `attune resume` is resume.cpp.
#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/suspend_request.h"

namespace attune::cli {

int Suspend(const SuspendArguments& arguments, const Target& target) {
  const auto connection = ConnectToJob(target, arguments.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  Interrupts::Install();
  const auto timeout = std::chrono::seconds(arguments.timeout_seconds);
  const auto done = arguments.restart ? RestartJob(*connection->api, connection->key, timeout)
                                      : SuspendJob(*connection->api, connection->key, timeout);
  if (!done.ok()) return Fail(done.status());
  std::printf("%s\n", done->c_str());
  return kExitOk;
}

}  // namespace attune::cli
