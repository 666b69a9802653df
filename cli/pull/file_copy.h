// Copies what a reader shows into a directory, so that it can be interrupted at any moment and run again: a file has
// its name once every block of it agrees with the reader's checksum, what has it already is left alone, and what came
// of a file that was interrupted is continued. Files that change meanwhile are listed and copied again. They come in
// the order in which they were written: a checkpoint's manifest after what it names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/pull/copy_target.h"
#include "cli/pull/shown_files.h"

namespace attune::cli {

// A file that is not whole has this behind its name.
inline constexpr char kPartSuffix[] = ".attune-part";

struct CopyProgress {
  bool copying = false;          // else what is here already is compared
  uint64_t done = 0, total = 0;  // bytes
};

struct CopiedFile {
  std::string path;
  uint64_t size = 0;
  bool was_there = false;  // and the same
};

struct CopyOptions {
  bool force = false;  // files here that differ are replaced
  std::function<bool(const std::string& path)> wanted = [](const std::string&) { return true; };
  // False: stop.
  std::function<bool(const CopyProgress& progress)> progress = [](const CopyProgress&) { return true; };
  std::function<void(const CopiedFile& file)> copied = [](const CopiedFile&) {};
};

struct CopyResult {
  std::vector<CopiedFile> files;
  size_t left_out = 0;  // by the reader, see FileListing
  size_t unwanted = 0;
  uint64_t bytes = 0;     // of all files
  uint64_t received = 0;  // of those that came now
};

// AlreadyExists names files here that differ; they stay, and no others are copied. Cancelled: `progress` said so.
// Aborted: files change faster than they are copied. The errors of reader and target otherwise; what was copied stays.
StatusOr<CopyResult> CopyFiles(ShownFiles& shown, CopyTarget& target, const CopyOptions& options);

}  // namespace attune::cli
