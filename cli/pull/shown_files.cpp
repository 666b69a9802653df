#include "cli/pull/shown_files.h"

#include <algorithm>

#include "base/sha256.h"

namespace attune::cli {
namespace {

Status BadListing(const std::string& why) {
  return Error(StatusCode::kUnavailable,
               "the reader's list of files " + why + "; it is not followed: whatever answers is no reader");
}

}  // namespace

StatusOr<FileListing> ShownFiles::List() {
  listing_ = {};
  uint64_t path_bytes = 0;
  do {
    const size_t first = listing_.files.size();
    ASSIGN_OR_RETURN(const std::string text, ask_("list/" + std::to_string(first)));
    ASSIGN_OR_RETURN(FileListing page, ReadListingPage(text));
    if (first == 0) {
      listing_ = {.number = page.number, .total = page.total, .left_out = page.left_out, .files = {}};
    } else if (page.number != listing_.number || page.total != listing_.total) {
      return Error(StatusCode::kAborted, "the files were listed again while they were being listed");
    }
    if (page.files.empty() && page.total > first) return BadListing("never ends");
    for (ListedFile& file : page.files) {
      path_bytes += file.path.size();
      if (listing_.files.size() == listing_.total || path_bytes > kListedPathBytesMax)
        return BadListing("is longer than it says, or than any may be");
      // Ascending, so that no path comes twice.
      if (!listing_.files.empty() && file.path <= listing_.files.back().path) return BadListing("is out of order");
      listing_.files.push_back(std::move(file));
    }
  } while (listing_.files.size() < listing_.total);
  return listing_;
}

StatusOr<std::string> ShownFiles::Read(size_t place, uint64_t offset) {
  const ListedFile& file = listing_.files.at(place);
  ASSIGN_OR_RETURN(std::string piece, ask_(Request("read", place, offset)));
  if (piece.size() == std::min(kFilePageBytes, file.size - offset)) return piece;
  return Error(StatusCode::kAborted, "'" + file.path + "': " + std::to_string(piece.size()) + " bytes came from byte " +
                                         std::to_string(offset) + " on, of a file of " + std::to_string(file.size));
}

StatusOr<std::string> ShownFiles::Sum(size_t place, uint64_t offset) {
  ASSIGN_OR_RETURN(std::string sum, ask_(Request("sum", place, offset)));
  if (IsSha256Hex(sum)) return sum;
  return Error(StatusCode::kUnavailable, "what the reader says of '" + listing_.files.at(place).path +
                                             "' is no SHA-256; whatever answers is no reader");
}

std::string ShownFiles::Request(const char* what, size_t place, uint64_t offset) const {
  return std::string(what) + "/" + std::to_string(listing_.number) + "/" + std::to_string(place) + "/" +
         std::to_string(offset);
}

}  // namespace attune::cli
