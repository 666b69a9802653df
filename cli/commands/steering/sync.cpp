#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/commands/steering/live_change.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/requests/job_words.h"
#include "cli/requests/overruled.h"
#include "cli/requests/workers/sync_request.h"
#include "cli/runs/jobs.h"
#include "operator/api/status/chosen_settings.h"

namespace attune::cli {
namespace {

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
  const ModeWords words = SortSyncWords(arguments.job, arguments.mode);
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
  const std::string name = Describe(*wanted);
  const LiveChange change{.patch = SynchronizationPatch(*wanted),
                          .doing = "switching to " + name,
                          .refused_reason = "SynchronizationRefused",
                          .is_in_force = [&](const api::TrainingJob& seen) { return InForce(seen) == *wanted; },
                          .timeout_seconds = arguments.timeout_seconds};
  if (const Status status = MakeLiveChange(*connection->api, key, before, change); !status.ok()) return Fail(status);
  if (!before.status.abilities) {
    std::printf("%s: workers will keep pace by %s when it runs\n", key.name.c_str(), name.c_str());
  } else {
    std::printf("%s: %s -> %s\n", key.name.c_str(), Describe(InForce(before).value_or(SyncMode::Async())).c_str(),
                name.c_str());
  }
  return kExitOk;
}

}  // namespace attune::cli
