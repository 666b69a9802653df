// The files that a reader shows, asked for page by page (base/files/file_pages.h). Nothing it answers is believed:
// sizes, order and paths are checked, and every answer is bounded. Not thread-safe.
#pragma once

#include <functional>
#include <string>

#include "base/files/file_listing.h"
#include "base/status.h"

namespace attune::cli {

class ShownFiles {
 public:
  // Answers one request, or says why it cannot; Aborted where the file is not as it was listed.
  using Ask = std::function<StatusOr<std::string>(const std::string& request)>;
  explicit ShownFiles(Ask ask) : ask_(std::move(ask)) {}

  // Looks again. Places of files, below, are those in the last listing.
  StatusOr<FileListing> List();
  // kFilePageBytes from `offset` on, fewer only where the file ends.
  StatusOr<std::string> Read(size_t place, uint64_t offset);
  // SHA-256 of kFileBlockBytes from `offset` on, fewer only where the file ends.
  StatusOr<std::string> Sum(size_t place, uint64_t offset);

 private:
  std::string Request(const char* what, size_t place, uint64_t offset) const;

  const Ask ask_;
  FileListing listing_;
};

}  // namespace attune::cli
