// Any bytes as a page of a list of files: refused, or files below their directory that are the same when they are
// written and read again.
#include "base/files/file_listing.h"

#include "base/check.h"
#include "tests/fuzz/fuzz_driver.h"

namespace attune::fuzz {

std::vector<uint8_t> Example(uint64_t seed) {
  FileListing listing{.number = seed, .total = 0, .left_out = seed % 3, .files = {}};
  for (uint64_t i = 0; i < seed % 5; ++i) listing.files.push_back({"tables/" + std::to_string(i) + ".rows", i, 1});
  const std::string text = WriteListingPage(listing, 0);
  return {text.begin(), text.end()};
}

}  // namespace attune::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto listing = attune::ReadListingPage({reinterpret_cast<const char*>(data), size});
  if (!listing.ok()) return 0;
  for (const attune::ListedFile& file : listing->files) {
    ATTUNE_CHECK(("/" + file.path + "/").find("/../") == std::string::npos) << file.path;
    ATTUNE_CHECK(attune::ProblemOfFilePath(file.path).empty()) << file.path;
  }
  listing->total = listing->files.size();
  const auto again = attune::ReadListingPage(attune::WriteListingPage(*listing, 0));
  ATTUNE_CHECK(again.ok()) << again.status();
  ATTUNE_CHECK(again->files.size() <= listing->files.size()) << again->files.size();
  return 0;
}
