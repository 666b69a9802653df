// Which files lie below a directory, as a text that one process writes and another reads, and the limits of both:
//
//   attune-files 1 LISTING TOTAL LEFT_OUT      LISTING: number of this look at the directory
//   SIZE WRITTEN_AT PATH                       a line per file, by path; nanoseconds since 1970
//
// A file is asked for by its place in such a listing, never by a path, so that no other file can be named. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace attune {

inline constexpr size_t kListedFilesMax = 100'000;
inline constexpr uint64_t kListedPathBytesMax = 16 << 20;  // of all paths together
inline constexpr size_t kFilePathBytesMax = 1024;
inline constexpr int kFileDepthMax = 32;
inline constexpr size_t kListingPageBytes = 512 << 10;
inline constexpr uint64_t kFilePageBytes = 1 << 20;    // of one read
inline constexpr uint64_t kFileBlockBytes = 32 << 20;  // of one checksum: seconds also on a slow volume

struct ListedFile {
  std::string path;  // relative, of parts with '/' between them
  uint64_t size = 0;
  int64_t written_at = 0;
};

struct FileListing {
  uint64_t number = 0;
  size_t total = 0;     // files of all pages
  size_t left_out = 0;  // links, devices, and names that no other machine should be given
  std::vector<ListedFile> files;
};

// A page that begins with the file at place `first`.
std::string WriteListingPage(const FileListing& listing, size_t first);
// Unavailable: it is no such page, or one of its paths is not to be used.
StatusOr<FileListing> ReadListingPage(std::string_view text);

// Why a path must not be made below a directory of this machine, or shown; "" when it may.
std::string ProblemOfFilePath(std::string_view path);

}  // namespace attune
