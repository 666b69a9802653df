#include <cstdio>

#include "cli/application.h"
#include "cli/cluster_run.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/local_run.h"
#include "operator/api/manifest.h"

namespace attune::cli {
namespace {

// Prints what is wrong. The jobs with their defaults and a namespace otherwise.
StatusOr<std::vector<kube::Json>> ReadJobs(const std::string& file) {
  ASSIGN_OR_RETURN(const std::vector<api::Manifest> manifests, api::ReadManifests(file));
  std::vector<kube::Json> jobs;
  size_t problems = 0;
  for (const api::Manifest& manifest : manifests) {
    for (const api::FieldProblem& problem : manifest.problems) {
      std::fprintf(stderr, "%s\n", api::ToString(problem, file).c_str());
    }
    problems += manifest.problems.size();
    jobs.push_back(manifest.object);
  }
  if (problems == 0) return jobs;
  return Error(StatusCode::kInvalidArgument, file + " has " + std::to_string(problems) +
                                                 (problems == 1 ? " problem" : " problems") + "; nothing was started");
}

}  // namespace

int Run(const RunArguments& arguments, const Target& target) {
  auto jobs = ReadJobs(arguments.file);
  if (!jobs.ok()) {
    Fail(jobs.status());
    return kExitBadInput;
  }
  if (WantsCluster(target)) return RunOnCluster(*std::move(jobs), arguments, target);
  return arguments.detach ? StartDetached(*jobs, arguments, target) : RunLocally(*std::move(jobs), arguments, target);
}

}  // namespace attune::cli
