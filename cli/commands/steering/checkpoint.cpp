#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/checkpoint_request.h"

namespace attune::cli {

int Checkpoint(const CheckpointArguments& arguments, const Target& target) {
  const auto connection = ConnectToJob(target, arguments.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  Interrupts::Install();
  const auto written =
      WriteCheckpoint(*connection->api, connection->key, {.whole = std::chrono::seconds(arguments.timeout_seconds)});
  if (!written.ok()) return Fail(written.status());
  std::printf("%s\n", ToString(*written).c_str());
  return kExitOk;
}

}  // namespace attune::cli
