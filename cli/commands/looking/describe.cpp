#include <cstdio>
#include <filesystem>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/description.h"
#include "cli/failure.h"

namespace attune::cli {
namespace {

void PrintWhereItIs(const RunRecord& run) {
  std::printf("\nRun %s has ended (%s) and is kept in %s\n", run.name.c_str(), ToString(run.outcome).c_str(),
              run.directory.c_str());
  const std::filesystem::path output = std::filesystem::path(run.directory) / kRunOutput;
  if (std::error_code error; std::filesystem::exists(output, error))
    std::printf("What it printed is in %s\n", output.c_str());
}

}  // namespace

int Describe(const DescribeArguments& arguments, const Target& target) {
  auto connection = ConnectToJob(target, arguments.job, Purpose::kLook);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const auto pods = GetPods(*connection->api, key);
  if (!pods.ok()) return Fail(Annotate(pods.status(), "listing the pods of " + key.ToString()));
  const auto events = GetEvents(*connection->api, key, true);
  // Events are a courtesy; a user without the right to read them still sees the rest.
  const std::string text = DescriptionText(*object, *pods, events.ok() ? *events : std::vector<JobEvent>(),
                                           ToUnixSeconds(SystemTime().WallNow()));
  std::fputs(text.c_str(), stdout);
  if (connection->ended) PrintWhereItIs(*connection->ended);
  if (!events.ok()) std::printf("Events: not readable: %s\n", std::string(Message(events.status())).c_str());
  return kExitOk;
}

}  // namespace attune::cli
