// Where a local run keeps its logs and models, and which program this is.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "base/time_source.h"

namespace attune::cli {

inline constexpr char kRunsDirectory[] = "attune-runs";  // of the present directory
inline constexpr char kRunModelClaim[] = "model";        // of jobs that name none; a directory below claims/

struct WantedDirectory {
  std::string path;  // of --run-directory; "": ./attune-runs/<name>
  std::string name;  // of the run; "": <job>-<date>-<time> (UTC) with a number when taken
  std::string job;
};
// Created; absolute. A directory that holds anything is refused: nothing of an earlier run is ever written over.
StatusOr<std::filesystem::path> MakeRunDirectory(const WantedDirectory& wanted, WallTime now);
// Where runs that share a parent ./attune-runs keep what their tuners learned; "" for a directory chosen by name, whose
// neighbors have nothing to do with it.
std::filesystem::path TunerHistoryOf(const std::filesystem::path& run_directory);
std::filesystem::path ThisProgram();

}  // namespace attune::cli
