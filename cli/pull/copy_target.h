// Where files are copied to: a directory on this machine, and in tests one that fails. Paths are relative and checked
// by the caller (base/files/file_listing.h); what stands at their parts is checked here: no link is followed, so that
// nothing is written outside. Errors name the path and what to do. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::cli {

// A file that is being written. Destroyed before its Finish it stays as far as it came.
class TargetFile {
 public:
  virtual ~TargetFile() = default;
  // ResourceExhausted: the disk is full.
  virtual Status Append(std::string_view bytes) = 0;
  virtual Status Finish() = 0;  // once; it is on the disk
};

class CopyTarget {
 public:
  virtual ~CopyTarget() = default;
  // Of a regular file; nothing when there is none. FailedPrecondition: something else is in the way.
  virtual StatusOr<std::optional<uint64_t>> SizeOf(const std::string& path) = 0;
  // SHA-256 of `bytes` bytes from `offset` on. Aborted: it has become shorter.
  virtual StatusOr<std::string> Sum(const std::string& path, uint64_t offset, uint64_t bytes) = 0;
  // Made with its directories, or cut to its first `keep` bytes.
  virtual StatusOr<std::unique_ptr<TargetFile>> Open(const std::string& path, uint64_t keep) = 0;
  // Within a directory; what stands there is replaced.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Nothing when it is not there.
  virtual Status Remove(const std::string& path) = 0;
};

// Makes `directory` where it is missing; it may be reached by links, what is below it may not.
StatusOr<std::unique_ptr<CopyTarget>> OpenDirectoryTarget(const std::filesystem::path& directory);

}  // namespace attune::cli
