// The regular files below a directory, as they were when one looked, and their bytes. Symbolic links are not followed,
// neither while looking nor while reading, and nothing is written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files/file_listing.h"
#include "base/status.h"
#include "base/time_source.h"

namespace attune {

class FileTree {
 public:
  // A directory that is not there holds no files. ResourceExhausted: more than a listing may hold, or than can be
  // looked at until `deadline`. PermissionDenied names what may not be looked at.
  static StatusOr<FileTree> Look(const std::filesystem::path& directory, const TimeSource& time,
                                 MonotonicTime deadline);

  const FileListing& listing() const { return listing_; }  // ordered by path; its number is the caller's

  // `bytes` bytes at `offset` of the file at `place` of the listing, fewer where it ends. Aborted: it is gone, or not
  // the file any more that it was. OutOfRange: there is no such place.
  StatusOr<std::string> Read(size_t place, uint64_t offset, uint64_t bytes) const;

 private:
  // What differs between a file and another one of its name.
  struct Identity {
    uint64_t device = 0, inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  struct Entry {
    ListedFile file;
    Identity identity;
  };
  struct Walk;
  friend struct Walk;

  std::filesystem::path directory_;
  FileListing listing_;
  std::vector<Identity> identities_;  // by place
};

}  // namespace attune
