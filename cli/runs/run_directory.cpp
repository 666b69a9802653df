#include "cli/runs/run_directory.h"

#include <ctime>

#include "cli/runs/run_store.h"

namespace attune::cli {
namespace {

constexpr int kTries = 100;
constexpr char kTunerHistory[] = "tuner-history.json";

Status Explain(const std::filesystem::path& path, const std::error_code& error) {
  return Error(StatusCode::kFailedPrecondition, "cannot make the run directory " + path.string() + ": " +
                                                    error.message() + "; choose another with --run-directory");
}

// Of a run in the background, whose first output is there before the run is.
bool IsOnlyOutput(const std::filesystem::path& entry) { return entry.filename() == kRunOutput; }

std::string Past(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kRunning:
      break;
    case RunOutcome::kSucceeded:
      return "succeeded";
    case RunOutcome::kFailed:
      return "failed";
    case RunOutcome::kInterrupted:
      return "was interrupted";
    case RunOutcome::kStopped:
      return "was stopped";
    case RunOutcome::kLost:
      return "was killed";
  }
  return "runs";
}

Status CheckEmpty(const std::filesystem::path& path) {
  std::error_code error;
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (!IsOnlyOutput(entry.path())) found = entry.path().filename().string();
  }
  if (error) return Explain(path, error);
  if (found.empty()) return OkStatus();
  const auto run = LoadRun(path);
  if (!run.ok()) {
    return Error(StatusCode::kAlreadyExists, "the run directory " + path.string() + " is not empty (it holds " + found +
                                                 "), and a run writes over nothing; choose a new or empty directory");
  }
  if (run->outcome == RunOutcome::kRunning) {
    return Error(StatusCode::kAlreadyExists, path.string() + " holds run " + run->name +
                                                 ", which has not ended, and a run writes over nothing; choose "
                                                 "another directory");
  }
  const std::string what = "which " + Past(run->outcome);
  return Error(StatusCode::kAlreadyExists,
               path.string() + " holds run " + run->name + ", " + what +
                   ", and a run writes over nothing; choose another directory, continue that run with `attune resume " +
                   path.string() + "`, or remove it with its model: `attune runs rm " + path.string() + "`");
}

std::string Stamp(WallTime now) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(now));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  return stamp;
}

}  // namespace

StatusOr<std::filesystem::path> MakeRunDirectory(const WantedDirectory& wanted, WallTime now) {
  std::error_code error;
  if (!wanted.path.empty()) {
    const std::filesystem::path path = std::filesystem::absolute(wanted.path, error).lexically_normal();
    std::filesystem::create_directories(path, error);
    if (error) return Explain(path, error);
    RETURN_IF_ERROR(CheckEmpty(path));
    return path;
  }
  const std::filesystem::path parent = std::filesystem::absolute(kRunsDirectory, error);
  std::filesystem::create_directories(parent, error);
  if (error) return Explain(parent, error);
  if (!wanted.name.empty()) {
    const std::filesystem::path path = parent / wanted.name;
    std::filesystem::create_directory(path, error);
    if (error) return Explain(path, error);
    RETURN_IF_ERROR(CheckEmpty(path));
    return path;
  }
  const std::string stamp = Stamp(now);
  for (int i = 1; i <= kTries; ++i) {
    const std::filesystem::path path = parent / (wanted.job + "-" + stamp + (i == 1 ? "" : "-" + std::to_string(i)));
    if (std::filesystem::create_directory(path, error)) return path;
    if (error) return Explain(path, error);
  }
  return Error(StatusCode::kAlreadyExists, "too many runs of " + wanted.job + " in one second in " + parent.string());
}

std::filesystem::path TunerHistoryOf(const std::filesystem::path& run_directory) {
  const std::filesystem::path parent = run_directory.parent_path();
  return parent.filename() == kRunsDirectory ? parent / kTunerHistory : std::filesystem::path();
}

std::filesystem::path ThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace attune::cli
