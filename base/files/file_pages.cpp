#include "base/files/file_pages.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/sha256.h"

namespace attune {
namespace {

constexpr Duration kLookMax = std::chrono::seconds(20);  // API servers wait a minute

constexpr size_t kNumbersMax = 3;

// "read/1/2/3": the word and its numbers; nothing when one is none.
struct Request {
  std::string_view word;
  std::vector<uint64_t> numbers;
};
std::optional<Request> Parse(std::string_view text) {
  Request request;
  for (bool first = true, more = true; more; first = false) {
    const size_t slash = text.find('/');
    const std::string_view part = text.substr(0, slash);
    more = slash != std::string_view::npos;
    if (more) text.remove_prefix(slash + 1);
    if (first) {
      request.word = part;
      continue;
    }
    uint64_t number = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || rest != part.data() + part.size()) return std::nullopt;
    if (request.numbers.size() == kNumbersMax) return std::nullopt;
    request.numbers.push_back(number);
  }
  return request;
}

}  // namespace

StatusOr<std::string> FilePages::Answer(std::string_view request) {
  const std::optional<Request> parsed = Parse(request);
  const auto is = [&](std::string_view word, size_t numbers) {
    return parsed && parsed->word == word && parsed->numbers.size() == numbers;
  };
  if (is("ready", 0)) return std::string("ready\n");
  if (is("list", 1)) return List(parsed->numbers[0]);
  const bool read = is("read", 3);
  if (!read && !is("sum", 3)) return Error(StatusCode::kNotFound, "there is no such page");
  if (parsed->numbers[0] != listing_) return Error(StatusCode::kAborted, "the files were listed again since");
  if (read) return tree_.Read(parsed->numbers[1], parsed->numbers[2], kFilePageBytes);
  return Sum(parsed->numbers[1], parsed->numbers[2]);
}

StatusOr<std::string> FilePages::List(uint64_t first) {
  if (first == 0) {
    ASSIGN_OR_RETURN(tree_, FileTree::Look(directory_, time_, time_.Now() + kLookMax));
    ++listing_;
  }
  FileListing listing = tree_.listing();
  listing.number = listing_;
  return WriteListingPage(listing, first);
}

StatusOr<std::string> FilePages::Sum(size_t place, uint64_t offset) const {
  Sha256 digest;
  for (uint64_t done = 0; done < kFileBlockBytes;) {
    ASSIGN_OR_RETURN(const std::string piece, tree_.Read(place, offset + done, kFilePageBytes));
    digest.Update(piece);
    done += piece.size();
    if (piece.size() < kFilePageBytes) break;
  }
  return digest.Hex();
}

}  // namespace attune
