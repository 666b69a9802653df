#include <cstdio>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/requests/job_words.h"
#include "cli/requests/overruled.h"
#include "cli/requests/scale_request.h"
#include "cli/requests/waiting.h"
#include "cli/runs/jobs.h"
#include "operator/api/status/chosen_settings.h"

namespace attune::cli {
namespace {

// How long the operator may take to say that it cannot be.
constexpr Duration kScaleRefusalWithin = std::chrono::seconds(3);

void PrintChange(const std::string& job, const char* role, int32_t before, int32_t wanted) {
  if (before == wanted) {
    std::printf("%s has %d %s%s already\n", job.c_str(), wanted, role, wanted == 1 ? "" : "s");
  } else {
    std::printf("%s: %ss %d -> %d\n", job.c_str(), role, before, wanted);
  }
}

// The number of workers goes through /scale, as `kubectl scale` does: a user may have no other right.
Status Patch(kube::Api& api, const kube::ObjectKey& key, const ScaleRequest& request) {
  if (request.workers && !request.servers && !request.changes_sizes()) {
    const kube::Json patch = {{"spec", {{"replicas", *request.workers}}}};
    return api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch, "scale").status();
  }
  return api.Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, ScalePatch(request)).status();
}

// Of sizes nothing is checked: what an amount is written as says little about what it is.
Status CheckTakesEffect(const api::TrainingJob& job, const ScaleRequest& request) {
  const auto check = [&](const char* role, const std::optional<int32_t>& count) {
    if (!count) return OkStatus();
    const std::string number = std::to_string(*count);
    return CheckNotOverruled(job, std::string("spec.") + role + ".replicas", number, role + ("=" + number));
  };
  RETURN_IF_ERROR(check("servers", request.servers));
  return check("workers", request.workers);
}

// The coordinator, or the machine of a pod, may still say no; its words are the operator's condition.
Status CheckNotRefused(kube::Api& api, const kube::ObjectKey& key) {
  const auto job = WaitForJob(api, key, kScaleRefusalWithin, [](const api::TrainingJob& seen) {
    const api::Condition* condition = api::FindCondition(seen.status, api::kReconfiguring);
    return condition != nullptr && condition->observed_generation >= seen.generation && condition->status != "True" &&
           (condition->reason.starts_with("ServerScaling") || condition->reason.starts_with("Resize"));
  });
  if (!job.ok()) return OkStatus();  // no refusal came
  return Error(StatusCode::kFailedPrecondition, api::FindCondition(job->status, api::kReconfiguring)->message);
}

}  // namespace

int Scale(const ScaleArguments& arguments, const Target& target) {
  std::vector<std::string> all = arguments.changes;
  if (!arguments.job.empty()) all.insert(all.begin(), arguments.job);
  const auto words =
      SortJobWords(all, "write attune scale JOB workers=N servers=N worker-cpu=AMOUNT ... (any of them)");
  if (!words.ok()) return Fail(words.status());
  const auto request = ParseScaleChanges(words->changes);
  if (!request.ok()) return Fail(request.status());
  auto connection = ConnectToJob(target, words->job, Purpose::kSteer);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key = connection->key;
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob job = api::ParseInForce(*object).job;
  if (const Status status = CheckScale(job, *request); !status.ok()) return Fail(status);
  if (const Status status = CheckTakesEffect(job, *request); !status.ok()) return Fail(status);
  if (const Status status = Patch(*connection->api, key, *request); !status.ok()) {
    return Fail(Annotate(status, "scaling " + key.ToString()));
  }
  if (request->workers) PrintChange(job.name, "worker", job.spec.workers.replicas, *request->workers);
  if (request->servers) PrintChange(job.name, "server", job.spec.servers.replicas, *request->servers);
  for (const std::string& line : SizeChanges(job, *request)) std::printf("%s\n", line.c_str());
  const bool changes_servers = request->servers && *request->servers != job.spec.servers.replicas;
  if (!changes_servers && !request->changes_sizes()) return kExitOk;
  std::fflush(stdout);
  Interrupts::Install();
  if (const Status status = CheckNotRefused(*connection->api, key); !status.ok()) return Fail(status);
  return kExitOk;
}

}  // namespace attune::cli
