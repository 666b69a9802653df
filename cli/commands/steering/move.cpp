#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/move_request.h"

namespace attune::cli {

int Move(const MoveArguments& arguments, const Target& target) {
  // One word is the pod of the only job.
  const bool only_job = arguments.pod.empty();
  const std::string job = only_job ? "" : arguments.job;
  const RequestedMove wanted{.pod = only_job ? arguments.job : arguments.pod, .to = arguments.to};
  const auto connection = ConnectToJob(target, job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  Interrupts::Install();
  const auto moved =
      MovePod(*connection->api, connection->key, wanted, std::chrono::seconds(arguments.timeout_seconds));
  if (!moved.ok()) return Fail(moved.status());
  std::printf("%s\n", moved->c_str());
  return kExitOk;
}

}  // namespace attune::cli
