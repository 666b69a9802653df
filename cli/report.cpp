#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "cli/application.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/report_page.h"
#include "cli/run_history.h"
#include "operator/local/instance.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHistoryBytesMax = 16 << 20;

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

// A file, a run directory, or the name of a job that a local run is training.
StatusOr<fs::path> FindHistory(const std::string& job, const Target& target) {
  std::error_code error;
  if (fs::is_regular_file(job, error)) return fs::path(job);
  if (fs::is_directory(job, error)) return HistoryIn(job);
  ASSIGN_OR_RETURN(const std::vector<local::Instance> instances, local::FindInstances());
  for (const local::Instance& instance : instances) {
    if (target.instance && instance.process_id != *target.instance) continue;
    const fs::path file = fs::path(instance.run_directory) / HistoryFile(job);
    if (fs::is_regular_file(file, error)) return file;
  }
  return Error(
      StatusCode::kNotFound,
      "there is no history of " + job +
          ": it is no file, no run directory, and no local run trains a job of that name. A run that has ended is "
          "found by its directory (attune-runs/...); a job on a cluster is recorded by who follows it: `attune "
          "--context NAME run --report FILE job.yaml`");
}

}  // namespace

int Report(const ReportArguments& arguments, const Target& target) {
  const auto file = FindHistory(arguments.job, target);
  if (!file.ok()) return Fail(file.status());
  const auto text = ReadFile(*file, kHistoryBytesMax);
  if (!text.ok()) return Fail(text.status());
  const auto history = LoadHistory(*text);
  if (!history.ok()) return Fail(Annotate(history.status(), "reading " + file->string()));
  const Status written = WriteFileAtomically(arguments.output, ReportPage(*history));
  if (!written.ok()) return Fail(written);
  std::printf("report of %s: %s\n", history->name.c_str(), arguments.output.c_str());
  return kExitOk;
}

}  // namespace attune::cli
