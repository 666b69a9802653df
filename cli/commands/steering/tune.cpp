#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/job_words.h"
#include "cli/requests/tune_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"
#include "operator/controller/observe/names.h"

namespace attune::cli {
namespace {

// How long workers may take to say that they cannot.
constexpr Duration kTuneRefusalWithin = std::chrono::seconds(4);

// What the workers' program refuses is taken back, so that no pin stands that is not kept.
Status CheckTaken(kube::Api& api, const kube::ObjectKey& key, int64_t generation, const kube::Json& undo) {
  const auto refused = WaitForJob(api, key, kTuneRefusalWithin, [&](const api::TrainingJob& seen) {
    const api::Condition* condition = api::FindCondition(seen.status, api::kReconfiguring);
    return condition != nullptr && condition->reason == controller::kReasonThreadsRefused &&
           condition->observed_generation >= generation;
  });
  if (!refused.ok()) return OkStatus();  // no refusal came
  const std::string why = api::FindCondition(refused->status, api::kReconfiguring)->message;
  RETURN_IF_ERROR(Annotate(api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, undo).status(),
                           "taking back threads, which were refused (" + why + ")"));
  return Error(StatusCode::kFailedPrecondition, why + "; the number of threads was not changed");
}

}  // namespace

int Tune(const TuneArguments& arguments, const Target& target) {
  std::vector<std::string> all = arguments.words;
  all.insert(all.begin(), arguments.action);
  const auto words = SortTuneWords(all);
  if (!words.ok()) return Fail(words.status());
  if (const Status status = CheckTuneWords(words->action, words->settings); !status.ok()) return Fail(status);
  auto connection = ConnectToJob(target, words->job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const auto request = MakeTuneRequest(api::ParseTrainingJob(*object).job, words->action, words->settings);
  if (!request.ok()) return Fail(request.status());
  const auto patched = connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, request->patch);
  if (!patched.ok()) return Fail(Annotate(patched.status(), "changing " + key.ToString()));
  if (!request->undo.is_null()) {
    Interrupts::Install();
    const Status taken =
        CheckTaken(*connection->api, key, api::ParseTrainingJob(*patched).job.generation, request->undo);
    if (!taken.ok()) return Fail(taken);
  }
  std::printf("%s: %s\n", key.name.c_str(), request->answer.c_str());
  return kExitOk;
}

}  // namespace attune::cli
