#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/commands/steering/live_change.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/requests/workers/rows_request.h"
#include "cli/runs/jobs.h"
#include "operator/api/status/chosen_settings.h"

namespace attune::cli {

int Rows(const RowsArguments& arguments, const Target& target) {
  const ModeWords words = SortRowsWords(arguments.job, arguments.management);
  if (words.mode.empty()) {
    return Fail(Error(StatusCode::kInvalidArgument, "write attune rows JOB adaptive, static or always"));
  }
  const auto wanted = ParseRowManagement(words.mode);
  if (!wanted.ok()) return Fail(wanted.status());
  auto connection = ConnectToJob(target, words.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob before = api::ParseInForce(*object).job;
  if (const Status status = CheckRowManagement(before); !status.ok()) return Fail(status);
  const LiveChange change{
      .patch = RowManagementPatch(*wanted),
      .doing = std::string("changing to ") + ToString(*wanted),
      .refused_reason = "RowManagementRefused",
      .is_in_force = [&](const api::TrainingJob& seen) { return seen.status.row_management == *wanted; },
      .timeout_seconds = arguments.timeout_seconds};
  if (const Status status = MakeLiveChange(*connection->api, key, before, change); !status.ok()) return Fail(status);
  if (!before.status.abilities) {
    std::printf("%s: rowManagement will be %s when it runs\n", key.name.c_str(), ToString(*wanted));
  } else {
    std::printf("%s: %s -> %s\n", key.name.c_str(),
                ToString(before.status.row_management.value_or(RowManagement::kAdaptive)), ToString(*wanted));
  }
  return kExitOk;
}

}  // namespace attune::cli
