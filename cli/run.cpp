#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "cli/application.h"
#include "cli/cluster_run.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/local_run.h"
#include "cli/tune_request.h"
#include "operator/api/manifest.h"
#include "operator/local/core_limits.h"

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

// Into the manifest, so that the job says itself where it began.
Status AddResume(std::vector<kube::Json>& jobs, const std::string& directory, bool on_cluster) {
  if (directory.empty()) return OkStatus();
  if (jobs.size() != 1) {
    return Error(StatusCode::kInvalidArgument, "--resume begins one job, and the manifest has " +
                                                   std::to_string(jobs.size()) +
                                                   "; write spec.checkpoint.resumeFrom into each of them instead");
  }
  std::filesystem::path path(directory);
  std::error_code error;
  if (on_cluster && !path.is_absolute()) {
    return Error(StatusCode::kInvalidArgument,
                 "--resume " + directory + ": on a cluster, write the absolute path as the pods see it");
  }
  if (!on_cluster) {
    path = std::filesystem::absolute(path, error).lexically_normal();
    if (!std::filesystem::is_directory(path, error)) {
      return Error(StatusCode::kInvalidArgument, "--resume " + directory + ": there is no such directory");
    }
  }
  jobs.front()["spec"]["checkpoint"]["resumeFrom"] = path.string();
  return OkStatus();
}

// On this machine the tuner tries no more processes than its cores can tell apart, unless the manifest says otherwise.
Status AddTuning(std::vector<kube::Json>& jobs, const std::string& name, bool on_cluster) {
  if (name.empty()) return OkStatus();
  const auto mode = ParseTuningMode(name);
  if (!mode) {
    return Error(StatusCode::kInvalidArgument,
                 "--tune " + name + ": write off, recommend, initial, inplaceonly or auto");
  }
  constexpr int32_t kPerCore = 4;
  const auto cores = static_cast<int32_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
  for (kube::Json& job : jobs) {
    kube::Json& tuning = job["spec"]["tuning"];
    tuning["mode"] = ToString(*mode);
    if (on_cluster) continue;
    for (const char* role : {"servers", "workers"}) {
      const int64_t replicas = kube::IntegerAt(job, {"spec", role, "replicas"}, 1);
      if (!tuning[role].contains("max"))
        tuning[role]["max"] = std::max<int64_t>(replicas, kPerCore * cores / (*role == 's' ? 2 : 1));
    }
    if (!tuning["threads"].contains("max")) tuning["threads"]["max"] = cores;
  }
  return OkStatus();
}

Status CheckCores(const std::string& text, bool on_cluster) {
  if (text.empty()) return OkStatus();
  if (on_cluster) {
    return Error(StatusCode::kInvalidArgument,
                 "--limit-cores-per-pod " + text +
                     " is for runs on this machine; on a cluster write resources.limits.cpu into the pod templates");
  }
  return Annotate(local::CoreLimits::Parse(text).status(), "--limit-cores-per-pod");
}

}  // namespace

int Run(const RunArguments& arguments, const Target& target) {
  auto jobs = ReadJobs(arguments.file);
  Status status = jobs.status();
  if (status.ok()) status = AddResume(*jobs, arguments.resume, WantsCluster(target));
  if (status.ok()) status = AddTuning(*jobs, arguments.tune, WantsCluster(target));
  if (status.ok()) status = CheckCores(arguments.cores, WantsCluster(target));
  if (!status.ok()) {
    Fail(status);
    return kExitBadInput;
  }
  if (WantsCluster(target)) return RunOnCluster(*std::move(jobs), arguments, target);
  return arguments.detach ? StartDetached(*jobs, arguments, target) : RunLocally(*std::move(jobs), arguments, target);
}

}  // namespace attune::cli
