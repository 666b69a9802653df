// C and C++ identifiers of a text, keywords included; comments, literals, numbers and preprocessor directives are
// passed over (guards and lists of headers would make every name of a file a neighbor of every other).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"

namespace attune::examples {

inline constexpr size_t kIdentifierBytesMax = 64;  // longer ones are passed over

namespace internal {

inline bool IsIdentifierByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// These take the place of an opening byte and return that after the whole. A literal ends with its line at the latest,
// so that a stray apostrophe costs no more than that.
inline size_t SkipLiteral(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

inline size_t SkipComment(std::string_view text, size_t at) {
  const std::string_view opening = text.substr(at, 2);
  if (opening == "//") return std::min(text.find('\n', at), text.size());
  if (opening != "/*") return at + 1;
  const size_t end = text.find("*/", at + 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

inline size_t SkipDirective(std::string_view text, size_t at) {
  while (at < text.size() && text[at] != '\n') {
    at = text[at] == '/' ? SkipComment(text, at) : at + (text[at] == '\\' ? 2 : 1);  // a backslash continues the line
  }
  return at;
}

}  // namespace internal

// visit(identifier) for each, in order; the views point into `text`.
template <typename Visit>
void ForEachIdentifier(std::string_view text, Visit&& visit) {
  using namespace internal;
  for (size_t at = 0; at < text.size();) {
    const char first = text[at];
    if (IsIdentifierByte(first)) {
      const size_t start = at;
      const bool is_number = absl::ascii_isdigit(static_cast<unsigned char>(first));  // 0x1F, 1'000, 1.5e3f
      while (at < text.size() && (IsIdentifierByte(text[at]) || (is_number && text[at] == '\''))) ++at;
      if (!is_number && at - start <= kIdentifierBytesMax) visit(text.substr(start, at - start));
    } else if (first == '"' || first == '\'') {
      at = SkipLiteral(text, at);
    } else if (first == '/') {
      at = SkipComment(text, at);
    } else if (first == '#') {
      at = SkipDirective(text, at);
    } else {
      ++at;
    }
  }
}

}  // namespace attune::examples
