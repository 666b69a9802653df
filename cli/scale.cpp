#include <cstdio>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/jobs.h"
#include "cli/scale_request.h"

namespace attune::cli {

int Scale(const ScaleArguments& arguments, const Target& target) {
  const auto workers = ParseScaleChanges(arguments.changes);
  if (!workers.ok()) return Fail(workers.status());
  auto connection = Connect(target);
  if (!connection.ok()) return Fail(connection.status());
  const kube::ObjectKey key{connection->name_space, arguments.job};
  const auto object = GetJob(*connection->api, key);
  if (!object.ok()) return Fail(object.status());
  const api::TrainingJob job = api::ParseTrainingJob(*object).job;
  if (const Status status = CheckScale(job, *workers); !status.ok()) return Fail(status);
  const kube::Json patch = {{"spec", {{"replicas", *workers}}}};
  const auto scaled = connection->api->Patch(kube::kTrainingJobs, key, kube::PatchType::kMerge, patch, "scale");
  if (!scaled.ok()) return Fail(Annotate(scaled.status(), "scaling " + key.ToString()));
  if (*workers == job.spec.workers.replicas) {
    std::printf("%s has %d worker%s already\n", job.name.c_str(), *workers, *workers == 1 ? "" : "s");
  } else {
    std::printf("%s: workers %d -> %d\n", job.name.c_str(), job.spec.workers.replicas, *workers);
  }
  return kExitOk;
}

}  // namespace attune::cli
