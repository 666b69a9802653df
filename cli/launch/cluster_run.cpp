#include "cli/launch/cluster_run.h"

#include <cstdio>

#include "cli/application.h"
#include "cli/connection.h"
#include "cli/display/follow.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/launch/run_report.h"

namespace attune::cli {
namespace {

constexpr char kFieldManager[] = "attune";

Status ApplyJob(kube::Api& api, const kube::Json& object) {
  const kube::ObjectKey key = kube::KeyOf(object);
  if (const auto existing = api.Get(kube::kTrainingJobs, key); existing.ok()) {
    const api::TrainingJob job = api::ParseTrainingJob(*existing).job;
    if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
      return Error(StatusCode::kFailedPrecondition, "job " + key.ToString() + " has run and ended (" +
                                                        job.status.phase + "); `attune stop " + key.name +
                                                        "` removes it, then run it again");
    }
  }
  return Annotate(api.Apply(kube::kTrainingJobs, object, {.field_manager = kFieldManager}).status(),
                  "applying " + key.ToString());
}

}  // namespace

int RunOnCluster(std::vector<kube::Json> jobs, const RunArguments& arguments, const Target& target) {
  auto connection = ConnectToCluster(target);
  if (!connection.ok()) return Fail(connection.status());
  Interrupts::Install();
  std::vector<kube::ObjectKey> keys;
  for (kube::Json& job : jobs) {
    if (!job["metadata"].contains("namespace")) job["metadata"]["namespace"] = connection->name_space;
    if (const Status status = ApplyJob(*connection->api, job); !status.ok()) return Fail(status);
    keys.push_back(kube::KeyOf(job));
    if (!arguments.json)
      std::printf("%s applied to %s\n", keys.back().ToString().c_str(), connection->description.c_str());
  }
  if (arguments.detach) return kExitOk;
  RunReport report("", arguments.report, keys.size());
  FollowOptions options{.json = arguments.json, .plain = arguments.plain, .local = false};
  options.record = [&](const JobView& view, double now) { report.Add(view, now); };
  const SystemTime time;
  FollowResult result = Follow(*connection->api, keys, options, time);
  if (result.interrupted)
    std::fprintf(stderr, "not following any longer; the job continues, `attune stop %s` ends it\n",
                 keys.front().name.c_str());
  const bool reported = report.Finish(arguments.json);
  for (JobView& view : result.views) view.tuned = report.HeadlineOf(view);
  const int code = Conclude(result, arguments.json);
  return code == kExitOk && !reported ? kExitFailed : code;
}

}  // namespace attune::cli
