// Where a local run keeps its logs and models, and which program this is.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "base/time_source.h"

namespace attune::cli {

// `wanted`, or ./attune-runs/<job>-<date>-<time> (UTC) with a number when taken. Created; absolute.
StatusOr<std::filesystem::path> MakeRunDirectory(const std::string& wanted, const std::string& job, WallTime now);
// Where runs that share a parent ./attune-runs keep what their tuners learned; "" for a directory chosen by name, whose
// neighbors have nothing to do with it.
std::filesystem::path TunerHistoryOf(const std::filesystem::path& run_directory);
std::filesystem::path ThisProgram();

}  // namespace attune::cli
