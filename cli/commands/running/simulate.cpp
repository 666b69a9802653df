#include <cstdio>
#include <filesystem>

#include "base/os/file.h"
#include "base/os/random_seed.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/display/object_text.h"
#include "cli/failure.h"
#include "cli/requests/manifest_file.h"
#include "cli/runs/run_store.h"
#include "cli/simulation/simulation_text.h"
#include "operator/api/manifest/manifest.h"

namespace attune::cli {
namespace {

constexpr uint64_t kSeedsDrawn = 1'000'000;  // short enough to be typed again

std::string NamesOf(const std::vector<api::Manifest>& manifests) {
  std::string names;
  for (const api::Manifest& manifest : manifests)
    names += (names.empty() ? "" : ", ") + std::string(kube::Name(manifest.object));
  return names;
}

// Prints what is wrong with the file.
StatusOr<api::TrainingJob> ReadJob(const SimulateArguments& arguments) {
  const std::string name = arguments.file == "-" ? kStandardInput : arguments.file;
  ASSIGN_OR_RETURN(const std::string text, ReadManifestText(arguments.file));
  ASSIGN_OR_RETURN(const std::vector<api::Manifest> manifests, api::ParseManifests(text, name));
  size_t problems = 0;
  for (const api::Manifest& manifest : manifests) {
    problems += manifest.problems.size();
    for (const api::FieldProblem& problem : manifest.problems)
      std::fprintf(stderr, "%s\n", api::ToString(problem, name).c_str());
  }
  if (problems > 0) {
    return Error(StatusCode::kInvalidArgument, name + " has " + std::to_string(problems) +
                                                   (problems == 1 ? " problem" : " problems") +
                                                   "; nothing was simulated");
  }
  for (const api::Manifest& manifest : manifests) {
    const bool only = arguments.job.empty() && manifests.size() == 1;
    if (only || kube::Name(manifest.object) == arguments.job) return api::ParseTrainingJob(manifest.object).job;
  }
  if (arguments.job.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 name + " has several jobs (" + NamesOf(manifests) + "); --job NAME says which one is simulated");
  }
  return Error(StatusCode::kInvalidArgument,
               name + " has no job " + arguments.job + "; --job names one of: " + NamesOf(manifests));
}

StatusOr<RecordedFigures> ReadRun(const std::string& wanted, const std::string& job) {
  ASSIGN_OR_RETURN(const RunRecord run, FindRun(wanted));
  if (run.jobs.empty()) return Error(StatusCode::kNotFound, "run " + run.name + " has no job");
  RunJob trained = run.jobs.front();
  for (const RunJob& each : run.jobs) {
    if (each.name == job) trained = each;
  }
  const auto file = std::filesystem::path(run.directory) / HistoryFile(trained.name);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kHistoryBytesMax));
  ASSIGN_OR_RETURN(const RunHistory history, LoadHistory(text));
  ASSIGN_OR_RETURN(RecordedFigures figures,
                   FiguresOf(history, run.name + (trained.name == job ? "" : ", job " + trained.name)));
  figures.machine_cores = run.machine.cores;
  return figures;
}

StatusOr<std::string> SimulateFile(const SimulateArguments& arguments) {
  ASSIGN_OR_RETURN(const api::TrainingJob job, ReadJob(arguments));
  std::optional<RecordedFigures> recorded;
  if (!arguments.from.empty()) {
    ASSIGN_OR_RETURN(recorded, ReadRun(arguments.from, job.name));
  }
  ASSIGN_OR_RETURN(const PlannedSimulation planned,
                   PlanSimulation(job, arguments, recorded, RandomSeed() % kSeedsDrawn));
  const auto result = Simulate(planned.plan);
  if (!result.ok()) {
    return Error(result.status().code(),
                 "job " + job.name + " cannot be simulated: " + std::string(Message(result.status())));
  }
  return arguments.json ? JsonText(SimulationJson(planned, *result)) : SimulationText(planned, *result);
}

}  // namespace

int Simulate(const SimulateArguments& arguments) {
  const auto text = SimulateFile(arguments);
  if (!text.ok()) return Fail(text.status());
  std::fputs(text->c_str(), stdout);
  return kExitOk;
}

}  // namespace attune::cli
