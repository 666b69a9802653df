#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/waiting.h"
#include "cli/requests/workers/rows_request.h"
#include "cli/runs/jobs.h"
#include "operator/api/status/chosen_settings.h"

namespace attune::cli {
namespace {

const api::Condition* RowsRefusal(const api::TrainingJob& job) {
  const api::Condition* condition = api::FindCondition(job.status, api::kReconfiguring);
  const bool refused = condition != nullptr && condition->reason == "RowManagementRefused" &&
                       condition->observed_generation >= job.generation;
  return refused ? condition : nullptr;
}

}  // namespace

int Rows(const RowsArguments& arguments, const Target& target) {
  const RowsWords words = SortRowsWords(arguments.job, arguments.management);
  if (words.management.empty()) {
    return Fail(Error(StatusCode::kInvalidArgument, "write attune rows JOB adaptive, static or always"));
  }
  const auto wanted = ParseRowManagement(words.management);
  if (!wanted.ok()) return Fail(wanted.status());
  auto connection = ConnectToJob(target, words.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob before = api::ParseInForce(*object).job;
  if (const Status status = CheckRowManagement(before); !status.ok()) return Fail(status);
  const auto patched =
      connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, RowManagementPatch(*wanted));
  if (!patched.ok()) return Fail(Annotate(patched.status(), "changing " + key.ToString()));
  if (!before.status.abilities) {
    std::printf("%s: rowManagement will be %s when it runs\n", key.name.c_str(), ToString(*wanted));
    return kExitOk;
  }
  Interrupts::Install();
  const auto job = WaitForJob(*connection->api, key, std::chrono::seconds(arguments.timeout_seconds),
                              [&](const api::TrainingJob& seen) {
                                return seen.status.row_management == *wanted || RowsRefusal(seen) != nullptr;
                              });
  if (!job.ok()) return Fail(Annotate(job.status(), std::string("changing to ") + ToString(*wanted)));
  if (const api::Condition* refusal = RowsRefusal(*job)) {
    return Fail(Error(StatusCode::kFailedPrecondition, refusal->message));
  }
  std::printf("%s: %s -> %s\n", key.name.c_str(),
              ToString(before.status.row_management.value_or(RowManagement::kAdaptive)), ToString(*wanted));
  return kExitOk;
}

}  // namespace attune::cli
