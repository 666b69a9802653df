#include "cli/run_directory.h"

#include <ctime>

namespace attune::cli {
namespace {

constexpr int kTries = 100;
constexpr char kRuns[] = "attune-runs", kTunerHistory[] = "tuner-history.json";

Status Explain(const std::filesystem::path& path, const std::error_code& error) {
  return Error(StatusCode::kFailedPrecondition, "cannot make the run directory " + path.string() + ": " +
                                                    error.message() + "; choose another with --run-directory");
}

}  // namespace

StatusOr<std::filesystem::path> MakeRunDirectory(const std::string& wanted, const std::string& job, WallTime now) {
  std::error_code error;
  if (!wanted.empty()) {
    const std::filesystem::path path = std::filesystem::absolute(wanted, error);
    std::filesystem::create_directories(path, error);
    if (error) return Explain(path, error);
    return path;
  }
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(now));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  const std::filesystem::path parent = std::filesystem::absolute(kRuns, error);
  std::filesystem::create_directories(parent, error);
  if (error) return Explain(parent, error);
  for (int i = 1; i <= kTries; ++i) {
    const std::filesystem::path path = parent / (job + "-" + stamp + (i == 1 ? "" : "-" + std::to_string(i)));
    if (std::filesystem::create_directory(path, error)) return path;
    if (error) return Explain(path, error);
  }
  return Error(StatusCode::kAlreadyExists, "too many runs of " + job + " in one second in " + parent.string());
}

std::filesystem::path TunerHistoryOf(const std::filesystem::path& run_directory) {
  const std::filesystem::path parent = run_directory.parent_path();
  return parent.filename() == kRuns ? parent / kTunerHistory : std::filesystem::path();
}

std::filesystem::path ThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace attune::cli
