#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/job_words.h"
#include "cli/requests/overruled.h"
#include "cli/requests/waiting.h"
#include "cli/requests/workers/sync_request.h"
#include "cli/runs/jobs.h"
#include "operator/api/status/chosen_settings.h"

namespace attune::cli {
namespace {

const api::Condition* Refusal(const api::TrainingJob& job) {
  const api::Condition* condition = api::FindCondition(job.status, api::kReconfiguring);
  const bool refused = condition != nullptr && condition->reason == "SynchronizationRefused" &&
                       condition->observed_generation >= job.generation;
  return refused ? condition : nullptr;
}

std::optional<SyncMode> InForce(const api::TrainingJob& job) {
  if (!job.status.synchronization) return std::nullopt;
  return api::FromManifest(*job.status.synchronization);
}

Status CheckTakesEffect(const api::TrainingJob& job, SyncMode wanted, const std::string& words) {
  kube::Json fields = api::SynchronizationFields(wanted);
  if (fields["staleness"].is_null()) fields.erase("staleness");
  return CheckNotOverruled(job, "spec.synchronization", fields.dump(), "slack=" + words);
}

}  // namespace

int Sync(const SyncArguments& arguments, const Target& target) {
  const SyncWords words = SortSyncWords(arguments.job, arguments.mode);
  if (words.mode.empty()) {
    return Fail(Error(StatusCode::kInvalidArgument, "no mode is named; write attune sync JOB async, bsp or ssp:N"));
  }
  const auto wanted = ParseSyncMode(words.mode);
  if (!wanted.ok()) return Fail(wanted.status());
  auto connection = ConnectToJob(target, words.job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob before = api::ParseInForce(*object).job;
  if (const Status status = CheckSynchronization(before, *wanted); !status.ok()) return Fail(status);
  if (const Status status = CheckTakesEffect(before, *wanted, words.mode); !status.ok()) return Fail(status);
  const auto patched =
      connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, SynchronizationPatch(*wanted));
  if (!patched.ok()) return Fail(Annotate(patched.status(), "switching " + key.ToString()));
  const std::string name = Describe(*wanted);
  if (!before.status.abilities) {
    std::printf("%s: workers will keep pace by %s when it runs\n", key.name.c_str(), name.c_str());
    return kExitOk;
  }
  Interrupts::Install();
  const auto job =
      WaitForJob(*connection->api, key, std::chrono::seconds(arguments.timeout_seconds),
                 [&](const api::TrainingJob& seen) { return InForce(seen) == *wanted || Refusal(seen) != nullptr; });
  if (!job.ok()) return Fail(Annotate(job.status(), "switching to " + name));
  if (const api::Condition* refusal = Refusal(*job)) {
    return Fail(Error(StatusCode::kFailedPrecondition, refusal->message));
  }
  std::printf("%s: %s -> %s\n", key.name.c_str(), Describe(InForce(before).value_or(SyncMode::Async())).c_str(),
              name.c_str());
  return kExitOk;
}

}  // namespace attune::cli
