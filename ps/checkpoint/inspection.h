// What a directory of checkpoints holds, for people.
#pragma once

#include <filesystem>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/checkpoint_directory.h"

namespace attune::ps {

struct CheckpointSummary {
  uint64_t number = 0;
  Manifest manifest;  // empty when it cannot be read
  Status status;      // whole, or what is wrong with it
};

// Oldest first. With kEveryByte all files are read. NotFound: no directory, or none in it.
StatusOr<std::vector<CheckpointSummary>> InspectCheckpoints(FileSystem& files, const std::filesystem::path& directory,
                                                            CheckpointDirectory::Depth depth);

}  // namespace attune::ps
