#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/os/output.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/launch/cluster_run.h"
#include "cli/launch/local_run.h"
#include "cli/requests/manifest_file.h"
#include "cli/requests/tune_request.h"
#include "cli/runs/checkpoint_lookup.h"
#include "cli/runs/run_directory.h"
#include "cli/runs/run_store.h"
#include "operator/api/manifest/manifest.h"
#include "operator/local/containers/core_limits.h"
#include "operator/local/nodes/pod_support.h"

namespace attune::cli {
namespace {

size_t Print(const std::vector<api::FieldProblem>& problems, const std::string& file) {
  for (const api::FieldProblem& problem : problems) std::fprintf(stderr, "%s\n", api::ToString(problem, file).c_str());
  return problems.size();
}

// What this machine cannot do: refused, or named once where only an effect is missing.
size_t CheckForThisMachine(const api::Manifest& manifest, const std::string& file) {
  std::vector<api::FieldProblem> problems;
  std::string without_effect;
  for (const std::string role : {"server", "worker"}) {
    const kube::Json& pod_template = kube::At(manifest.object, {"spec", role + "s", "template"});
    if (!pod_template.is_object()) continue;
    const std::string path = "spec." + role + "s.template";
    const local::PodSupport support = local::CheckPodSupport(pod_template, path);
    problems.insert(problems.end(), support.refused.begin(), support.refused.end());
    for (const std::string& field : support.without_effect)
      without_effect += (without_effect.empty() ? "" : ", ") + field;
    const auto missing = local::FindMissingPrograms(pod_template, path, role, {ThisProgram().parent_path()});
    problems.insert(problems.end(), missing.begin(), missing.end());
  }
  manifest.Locate(problems);
  if (problems.empty() && !without_effect.empty())
    std::fprintf(stderr, "%s: without effect on this machine: %s\n", file.c_str(), without_effect.c_str());
  return Print(problems, file);
}

// Prints what is wrong with the text of `file`; the jobs otherwise.
StatusOr<std::vector<kube::Json>> ParseJobs(const std::string& text, const std::string& file, bool on_cluster) {
  const auto manifests = api::ParseManifests(text, file);
  if (!manifests.ok()) return manifests.status();
  std::vector<kube::Json> jobs;
  size_t problems = 0;
  for (const api::Manifest& manifest : *manifests) {
    problems += Print(manifest.problems, file);
    jobs.push_back(manifest.object);
  }
  for (const api::Manifest& manifest : *manifests) {
    if (problems == 0 && !on_cluster) problems += CheckForThisMachine(manifest, file);
  }
  if (problems == 0) return jobs;
  return Error(StatusCode::kInvalidArgument, file + " has " + std::to_string(problems) +
                                                 (problems == 1 ? " problem" : " problems") + "; nothing was started");
}

// Into the manifest, so that the job says itself where it began. On this machine the checkpoint is looked up now,
// before any process starts.
Status AddResume(std::vector<kube::Json>& jobs, const std::string& directory, bool best, bool on_cluster) {
  if (directory.empty()) {
    for (kube::Json& job : jobs) {
      if (!on_cluster) RETURN_IF_ERROR(ResolveResumeFrom(job));
    }
    return OkStatus();
  }
  if (jobs.size() != 1) {
    return Error(StatusCode::kInvalidArgument, "--resume begins one job, and the manifest has " +
                                                   std::to_string(jobs.size()) +
                                                   "; write spec.checkpoint.resumeFrom into each of them instead");
  }
  std::filesystem::path path(directory);
  if (on_cluster && !path.is_absolute()) {
    return Error(StatusCode::kInvalidArgument,
                 "--resume " + directory + ": on a cluster, write the absolute path as the pods see it");
  }
  if (!on_cluster) {
    ASSIGN_OR_RETURN(path, FindResumeDirectory(directory, std::string(kube::Name(jobs.front())), best));
  }
  jobs.front()["spec"]["checkpoint"]["resumeFrom"] = path.string();
  kube::Json& checkpoint = jobs.front()["spec"]["checkpoint"];
  checkpoint.erase("resumeAt");  // what the manifest says of its own directory
  if (best) checkpoint["resumeAt"] = "Best";
  return OkStatus();
}

Status AddTuning(std::vector<kube::Json>& jobs, const std::string& name, bool on_cluster) {
  if (name.empty()) return OkStatus();
  const auto mode = ParseTuningMode(name);
  if (!mode) {
    return Error(StatusCode::kInvalidArgument,
                 "--tune " + name + ": write off, recommend, initial, inplaceonly or auto");
  }
  const auto cores = static_cast<int64_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
  for (kube::Json& job : jobs) {
    kube::Json& tuning = job["spec"]["tuning"];
    tuning["mode"] = ToString(*mode);
    if (on_cluster) continue;
    for (const char* role : {"servers", "workers"}) {
      const int64_t replicas = kube::IntegerAt(job, {"spec", role, "replicas"}, 1);
      if (!tuning[role].contains("max"))
        tuning[role]["max"] = std::max<int64_t>(replicas, (*role == 's' ? kServersPerCore : kWorkersPerCore) * cores);
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

// Before hours of training: where the page will lie can be written to.
Status CheckReport(const std::string& file) {
  if (file.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const OutputPlace place, FindOutputPlace(file));
  if (place.kind != OutputPlace::Kind::kStandardOutput) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               "--report " + file +
                   ": standard output shows the run; name a file, or make the page afterwards with "
                   "`attune report JOB -o -`");
}

// What would be without effect is refused.
Status CheckPlace(const RunArguments& arguments, const Target& target, bool on_cluster) {
  if (!on_cluster && target.instance) {
    return Error(StatusCode::kInvalidArgument,
                 "--instance names a run that exists, and attune run starts one; leave it out");
  }
  if (!arguments.dashboard.empty() && on_cluster) {
    return Error(StatusCode::kInvalidArgument,
                 "--dashboard shows runs on this machine; on a cluster, `attune top` and `attune report JOB` show a "
                 "job, and the operator exports its metrics (docs/monitoring.md)");
  }
  const bool named = !arguments.name.empty() || !arguments.tags.empty() || arguments.keep;
  if (named && on_cluster) {
    return Error(
        StatusCode::kInvalidArgument,
        "--name, --tag and --keep are for runs on this machine; a job on a cluster has metadata.name and labels");
  }
  if (!arguments.run_directory.empty() && on_cluster) {
    return Error(StatusCode::kInvalidArgument,
                 "--run-directory is for runs on this machine; on a cluster, mount a volume in the pod templates");
  }
  return OkStatus();
}

Status CheckName(const RunArguments& arguments) {
  if (arguments.name.empty()) return OkStatus();
  if (const std::string problem = ProblemOfRunName(arguments.name); !problem.empty())
    return Error(StatusCode::kInvalidArgument, "--name: " + problem);
  for (const RunRecord& run : ListRuns()) {
    if (run.name != arguments.name) continue;
    return Error(StatusCode::kAlreadyExists,
                 "--name " + arguments.name + ": there is a run of that name in " + run.directory + " (" +
                     ToString(run.outcome) + "); choose another name" +
                     (run.outcome == RunOutcome::kRunning ? "" : ", or remove it: `attune runs rm " + run.name + "`"));
  }
  return OkStatus();
}

}  // namespace

int Run(const RunArguments& given, const Target& target) {
  RunArguments arguments = given;
  if (arguments.manifest_name.empty())
    arguments.manifest_name = arguments.file == "-" ? kStandardInput : arguments.file;
  const bool on_cluster = WantsCluster(target);
  // Once: it may come from a pipe.
  const auto manifest = ReadManifestText(arguments.file);
  auto jobs = manifest.ok() ? ParseJobs(*manifest, arguments.manifest_name, on_cluster)
                            : StatusOr<std::vector<kube::Json>>(manifest.status());
  Status status = jobs.status();
  if (status.ok()) status = AddResume(*jobs, arguments.resume, arguments.resume_best, on_cluster);
  if (status.ok()) status = AddTuning(*jobs, arguments.tune, on_cluster);
  if (status.ok()) status = CheckCores(arguments.cores, on_cluster);
  if (status.ok()) status = CheckReport(arguments.report);
  if (status.ok()) status = CheckPlace(arguments, target, on_cluster);
  if (status.ok()) status = CheckName(arguments);
  if (!status.ok()) {
    Fail(status);
    return kExitBadInput;
  }
  if (on_cluster) return RunOnCluster(*std::move(jobs), arguments, target);
  return arguments.detach ? StartDetached(*jobs, *manifest, arguments, target)
                          : RunLocally(*std::move(jobs), *manifest, arguments, target);
}

}  // namespace attune::cli
