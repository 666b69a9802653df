#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/top/top_display.h"

namespace attune::cli {

int Top(const TopArguments& arguments, const Target& target) {
  const SystemTime time;
  const TopOptions options{
      .interval = std::chrono::seconds(arguments.interval_seconds), .once = arguments.once, .json = arguments.json};
  if (arguments.job.empty()) return ShowTop(*AllJobs(target, arguments.all_namespaces), options, time);
  auto connection = ConnectToJob(target, arguments.job, Purpose::kLook);
  if (!connection.ok()) return Fail(connection.status());
  return ShowTop(*OneJob(*std::move(connection), time), options, time);
}

}  // namespace attune::cli
