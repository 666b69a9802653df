// The files below a directory as pages of text, for a program that reaches this process by requests alone:
//
//   ready                         that it answers
//   list/FIRST                    base/files/file_listing.h, from place FIRST on; FIRST 0 looks at the directory again
//   read/LISTING/PLACE/OFFSET     at most kFilePageBytes of a file, fewer only at its end
//   sum/LISTING/PLACE/OFFSET      SHA-256 of kFileBlockBytes of it, fewer only at its end
//
// The same class answers in a reader's pod and, of files on this machine, in the process that asks. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files/file_tree.h"
#include "base/status.h"
#include "base/time_source.h"

namespace attune {

class FilePages {
 public:
  // `time` must outlive it.
  FilePages(std::filesystem::path directory, const TimeSource& time) : directory_(std::move(directory)), time_(time) {}

  // NotFound: no such page. Aborted: a file, or the listing that the request speaks of, is not as it was; list again.
  StatusOr<std::string> Answer(std::string_view request);

 private:
  StatusOr<std::string> List(uint64_t first);
  StatusOr<std::string> Sum(size_t place, uint64_t offset) const;

  const std::filesystem::path directory_;
  const TimeSource& time_;
  FileTree tree_;
  uint64_t listing_ = 0;  // number of the last one
};

}  // namespace attune
