// Which checkpoint a run on this machine continues from, found before any process starts.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"

namespace attune::cli {

// `wanted`: a directory of checkpoints, or one that holds such a directory: a run directory, a claim, a model. The
// answer is absolute and holds a checkpoint that is whole. Relative paths begin at the current directory.
StatusOr<std::filesystem::path> FindResumeDirectory(const std::string& wanted);

}  // namespace attune::cli
