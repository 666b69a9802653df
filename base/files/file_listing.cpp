#include "base/files/file_listing.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace attune {
namespace {

constexpr std::string_view kHead = "attune-files";
constexpr std::string_view kVersion = "1";

// Up to `end`, which is taken away as well.
std::string_view TakeUntil(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

template <class Number>
std::optional<Number> TakeNumber(std::string_view& line) {
  const std::string_view word = TakeUntil(line, ' ');
  Number number{};
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && rest == word.data() + word.size() && !word.empty() ? std::optional(number)
                                                                                    : std::nullopt;
}

Status NoListing(const std::string& why) {
  return Error(StatusCode::kUnavailable,
               "the answer is no list of files: " + why + "; whatever answered is not the reader of this release");
}

// Also what a terminal takes for the beginning of a command, in one byte or, as UTF-8, in two.
bool HasControlCharacter(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

}  // namespace

std::string WriteListingPage(const FileListing& listing, size_t first) {
  std::string text = std::string(kHead) + ' ' + std::string(kVersion) + ' ' + std::to_string(listing.number) + ' ' +
                     std::to_string(listing.files.size()) + ' ' + std::to_string(listing.left_out) + '\n';
  for (size_t i = first; i < listing.files.size() && text.size() < kListingPageBytes; ++i) {
    const ListedFile& file = listing.files[i];
    text += std::to_string(file.size) + ' ' + std::to_string(file.written_at) + ' ' + file.path + '\n';
  }
  return text;
}

StatusOr<FileListing> ReadListingPage(std::string_view text) {
  std::string_view head = TakeUntil(text, '\n');
  if (TakeUntil(head, ' ') != kHead || TakeUntil(head, ' ') != kVersion) return NoListing("it begins otherwise");
  const auto number = TakeNumber<uint64_t>(head);
  const auto total = TakeNumber<size_t>(head);
  const auto left_out = TakeNumber<size_t>(head);
  if (!number || !total || !left_out || !head.empty()) return NoListing("its first line has another form");
  if (*total > kListedFilesMax) return NoListing("it speaks of " + std::to_string(*total) + " files");
  FileListing listing{.number = *number, .total = *total, .left_out = *left_out, .files = {}};
  while (!text.empty()) {
    std::string_view line = TakeUntil(text, '\n');
    const auto size = TakeNumber<uint64_t>(line);
    const auto written_at = TakeNumber<int64_t>(line);
    if (!size || !written_at) return NoListing("a line has another form");
    // No file system has larger ones, and sums of sizes stay numbers.
    if (*size > uint64_t{1} << 53) return NoListing("a file of " + std::to_string(*size) + " bytes");
    if (const std::string problem = ProblemOfFilePath(line); !problem.empty()) return NoListing(problem);
    if (listing.files.size() == *total) return NoListing("it has more lines than it says");
    listing.files.push_back({std::string(line), *size, *written_at});
  }
  return listing;
}

std::string ProblemOfFilePath(std::string_view path) {
  if (path.empty()) return "a file without a name";
  if (path.size() > kFilePathBytesMax) return "a path of " + std::to_string(path.size()) + " bytes";
  if (HasControlCharacter(path)) return "a path with control characters";
  int depth = 0;
  std::string_view rest = path;
  while (true) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") {
      return "the path '" + std::string(path) + "', which does not stay below its directory";
    }
    if (++depth > kFileDepthMax) return "a path of more than " + std::to_string(kFileDepthMax) + " directories";
    if (slash == std::string_view::npos) return "";
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace attune
