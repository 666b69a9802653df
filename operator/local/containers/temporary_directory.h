// A directory in the system's temporary one that never outlives its process for long: it holds a locked file, whose
// lock the kernel drops when the process ends, however that happens. The next one that looks removes what is not
// locked.
//
// A lock and not a process id says who lives: ids are used again, and mean other processes in other containers.
#pragma once

#include <filesystem>
#include <memory>

#include "base/os/file_descriptor.h"
#include "base/status.h"

namespace attune::local {

class TemporaryDirectory {
 public:
  // Below `parent`, with mode 0700.
  static StatusOr<std::unique_ptr<TemporaryDirectory>> Make(const std::filesystem::path& parent);
  ~TemporaryDirectory();  // removes it with all it holds
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryDirectory(std::filesystem::path path, FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  const std::filesystem::path path_;
  const FileDescriptor lock_;
};

// Removes the directories of this user below `parent` whose processes have ended without removing them.
void RemoveStaleTemporaryDirectories(const std::filesystem::path& parent);

// The system's, where processes put what need not last: $TMPDIR, else /tmp.
std::filesystem::path SystemTemporaryDirectory();

}  // namespace attune::local
