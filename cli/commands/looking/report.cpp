#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/os/file.h"
#include "base/os/output.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/report/compare_page.h"
#include "cli/report/report_page.h"
#include "cli/runs/run_history.h"
#include "cli/runs/run_store.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

// The one history in a run directory.
StatusOr<fs::path> HistoryIn(const fs::path& directory) {
  fs::path found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("history-") || !name.ends_with(".json")) continue;
    if (!found.empty()) {
      return Error(StatusCode::kInvalidArgument, directory.string() + " holds the history of several jobs, " +
                                                     found.filename().string() + " and " + name +
                                                     "; name one of these files");
    }
    found = entry.path();
  }
  if (!found.empty()) return found;
  return Error(StatusCode::kNotFound,
               directory.string() + " holds no history-<job>.json; a local `attune run` writes it");
}

struct FoundHistory {
  fs::path file;
  std::string name;                   // of the run
  std::optional<RunRecord> run = {};  // where it is known
};

StatusOr<FoundHistory> HistoryOfRun(const RunRecord& run, const std::string& wanted) {
  std::error_code error;
  for (const RunJob& job : run.jobs) {
    const fs::path file = fs::path(run.directory) / HistoryFile(job.name);
    if ((job.name == wanted || run.jobs.size() == 1) && fs::is_regular_file(file, error))
      return FoundHistory{file, run.name, run};
  }
  ASSIGN_OR_RETURN(const fs::path file, HistoryIn(run.directory));
  return FoundHistory{file, run.name, run};
}

// Of a job that runs.
StatusOr<FoundHistory> HistoryOfRunning(const JobConnection& connection) {
  std::error_code error;
  const fs::path directory = connection.run_directory, file = directory / HistoryFile(connection.key.name);
  if (!fs::is_regular_file(file, error)) {
    return Error(StatusCode::kUnavailable,
                 "job " + connection.key.name + " has no curves yet; they are kept from the first look on");
  }
  const auto run = LoadRun(directory);
  return run.ok() ? FoundHistory{file, run->name, *run} : FoundHistory{file, directory.filename().string()};
}

Status NotRecorded() {
  return Error(
      StatusCode::kNotFound,
      "a job on a cluster is recorded while it is followed: `attune --context NAME run --report FILE job.yaml`");
}

// Of the only job there is.
StatusOr<FoundHistory> FindOnlyHistory(const Target& target) {
  ASSIGN_OR_RETURN(const JobConnection connection, ConnectToJob(target, "", Purpose::kLook));
  if (connection.ended) return HistoryOfRun(*connection.ended, connection.key.name);
  return connection.instance ? HistoryOfRunning(connection) : NotRecorded();
}

// A file, a run directory, the name of a job that a local run trains, or of a run, or of a job that one has trained.
StatusOr<FoundHistory> FindHistory(const std::string& wanted, const Target& target) {
  std::error_code error;
  const auto in = [](const fs::path& file, const fs::path& directory) {
    const auto run = LoadRun(directory);
    return run.ok() ? FoundHistory{file, run->name, *run} : FoundHistory{file, directory.filename().string()};
  };
  if (fs::is_regular_file(wanted, error))
    return in(wanted, fs::absolute(wanted, error).lexically_normal().parent_path());
  if (fs::is_directory(wanted, error)) {
    ASSIGN_OR_RETURN(const fs::path file, HistoryIn(wanted));
    return in(file, wanted);
  }
  const auto connection = ConnectToJob(target, wanted, Purpose::kLook);
  if (connection.ok() && connection->ended) return HistoryOfRun(*connection->ended, connection->key.name);
  if (connection.ok() && connection->instance) return HistoryOfRunning(*connection);
  if (connection.status().code() == StatusCode::kInvalidArgument) return connection.status();
  const auto run = FindRun(wanted);
  if (run.ok()) return HistoryOfRun(*run, wanted);
  return Error(StatusCode::kNotFound,
               "there is no history of " + wanted + ": it is no file and no run directory, and " +
                   std::string(Message(run.status())) +
                   ". A job on a cluster is recorded while it is followed: `attune --context NAME run --report FILE "
                   "job.yaml`");
}

// What the run's record says and its curves do not: of an older attune, or of a run that was ended from outside.
void AddFacts(const RunRecord& run, RunHistory& history) {
  if (history.about.empty()) history.about = AboutRun(run);
  for (const RunJob& job : run.jobs) {
    if (job.name == history.name && WasEndedFromOutside(job.outcome)) history.phase = ToString(job.outcome);
  }
}

// "" is the only job there is.
StatusOr<ComparedHistory> ReadHistory(const std::string& wanted, const Target& target) {
  ASSIGN_OR_RETURN(const FoundHistory found, wanted.empty() ? FindOnlyHistory(target) : FindHistory(wanted, target));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(found.file, kHistoryBytesMax));
  auto history = LoadHistory(text);
  if (!history.ok()) return Annotate(history.status(), "reading " + found.file.string());
  if (found.run) AddFacts(*found.run, *history);
  return ComparedHistory{found.name.empty() ? history->name : found.name, *std::move(history)};
}

}  // namespace

int Report(const ReportArguments& arguments, const Target& target) {
  if (arguments.jobs.size() > kComparedMax) {
    return Fail(Error(StatusCode::kInvalidArgument,
                      "at most " + std::to_string(kComparedMax) + " runs fit on one page; name fewer"));
  }
  const auto place = FindOutputPlace(arguments.output);
  if (!place.ok()) return Fail(place.status());
  std::vector<ComparedHistory> runs;
  const std::vector<std::string> wanted_runs = arguments.jobs.empty() ? std::vector<std::string>{""} : arguments.jobs;
  for (const std::string& wanted : wanted_runs) {
    auto run = ReadHistory(wanted, target);
    if (!run.ok()) return Fail(run.status());
    runs.push_back(*std::move(run));
  }
  const std::string page = runs.size() == 1 ? ReportPage(runs.front().history) : ComparePage(runs);
  if (const Status written = WriteOutput(*place, page); !written.ok()) return Fail(written);
  if (place->kind != OutputPlace::Kind::kFile) return kExitOk;
  std::string names;
  for (const ComparedHistory& run : runs)
    names += (names.empty() ? "" : ", ") + (runs.size() == 1 ? run.history.name : run.name);
  std::printf("report of %s: %s\n", names.c_str(), arguments.output.c_str());
  return kExitOk;
}

}  // namespace attune::cli
