// What checkpoints need of a file system, so that a test can crash one at every step. Two implementations: the real one
// here, a simulated one in tests/ps/checkpoint.
//
// Durability, as POSIX has it: bytes of a file are safe after its Sync; that a file has a name (creation, renaming,
// removal) is safe after SyncDirectory of its directory.
// Errors name the path, the system's reason and what to do: NotFound, AlreadyExists, PermissionDenied (also a read-only
// file system), ResourceExhausted (disk full, quota, file size limit), Unavailable. Calls block. Thread-safe; one file
// by one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace attune::ps {

class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes
  virtual Status Append(std::string_view bytes) = 0;
  virtual Status Sync() = 0;
  virtual Status Close() = 0;  // once; some file systems report a failed write only here
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;
  // Fills `bytes` from `offset`; both within size(). DataLoss: the file has become shorter.
  virtual Status ReadAt(uint64_t offset, std::span<char> bytes) const = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // A new, empty file. AlreadyExists when there is one.
  virtual StatusOr<std::unique_ptr<WritableFile>> Create(const std::filesystem::path& path) = 0;
  virtual StatusOr<std::unique_ptr<ReadableFile>> Open(const std::filesystem::path& path) = 0;
  // Names in a directory, in no particular order.
  virtual StatusOr<std::vector<std::string>> List(const std::filesystem::path& directory) = 0;
  // Replaces `to`.
  virtual Status Rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual Status Remove(const std::filesystem::path& path) = 0;
  virtual Status SyncDirectory(const std::filesystem::path& directory) = 0;
  // With its parents; nothing when it is there.
  virtual Status CreateDirectories(const std::filesystem::path& directory) = 0;
};

FileSystem& RealFileSystem();

// Reads a whole file of at most `bytes_max` bytes.
StatusOr<std::string> ReadWhole(FileSystem& files, const std::filesystem::path& path, uint64_t bytes_max);

}  // namespace attune::ps
