// C and C++ identifiers of a text, keywords included; comments, literals and numbers are passed over.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attune::word2vec {

inline constexpr size_t kIdentifierBytesMax = 64;  // longer ones are passed over

namespace internal {

enum ByteClass : uint8_t { kOther, kLetter, kDigit, kQuote, kSlash };

constexpr std::array<uint8_t, 256> MakeByteClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  classes['_'] = kLetter;
  classes['"'] = classes['\''] = kQuote;
  classes['/'] = kSlash;
  return classes;
}
inline constexpr std::array<uint8_t, 256> kByteClasses = MakeByteClasses();
inline uint8_t ClassOf(char c) { return kByteClasses[static_cast<unsigned char>(c)]; }

// `at` is the opening quote; returns the place after the closing one. A literal ends at the end of its line at the
// latest, so that a stray apostrophe costs no more than that.
inline size_t SkipLiteral(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

// `at` is a slash; returns the place after the comment, or after the slash if it starts none.
inline size_t SkipComment(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return at + 1;
  if (text[at + 1] == '/') return std::min(text.find('\n', at), text.size());
  if (text[at + 1] != '*') return at + 1;
  const size_t end = text.find("*/", at + 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

}  // namespace internal

// visit(identifier) for each, in order; the views point into `text`.
template <typename Visit>
void ForEachIdentifier(std::string_view text, Visit&& visit) {
  using namespace internal;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    switch (ClassOf(text[at])) {
      case kLetter:
        while (at < text.size() && (ClassOf(text[at]) == kLetter || ClassOf(text[at]) == kDigit)) ++at;
        if (at - start <= kIdentifierBytesMax) visit(text.substr(start, at - start));
        break;
      case kDigit:  // with its suffix, exponent and separators: 0x1F, 1'000, 1.5e3f
        while (at < text.size() && (ClassOf(text[at]) == kLetter || ClassOf(text[at]) == kDigit || text[at] == '\'')) {
          ++at;
        }
        break;
      case kQuote:
        at = SkipLiteral(text, at);
        break;
      case kSlash:
        at = SkipComment(text, at);
        break;
      default:
        ++at;
    }
  }
}

}  // namespace attune::word2vec
