// The text of /proc and of control groups, taken apart. A number that is not whole and alone is none, never guessed.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace attune {

// The parts between any of the separators; empty parts are left out.
inline std::vector<std::string_view> SplitText(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// A number alone in the text, but for white space around it.
template <std::integral Integer>
std::optional<Integer> ParseInteger(std::string_view text) {
  const std::vector<std::string_view> words = SplitText(text, " \t\n");
  if (words.size() != 1) return std::nullopt;
  Integer value{};
  const auto [end, error] = std::from_chars(words[0].data(), words[0].data() + words[0].size(), value);
  if (error != std::errc() || end != words[0].data() + words[0].size()) return std::nullopt;
  return value;
}

// The number behind `key` in lines of "key number".
inline std::optional<uint64_t> NumberOfKey(std::string_view text, std::string_view key) {
  for (const std::string_view line : SplitText(text, "\n")) {
    const std::vector<std::string_view> words = SplitText(line, " ");
    if (words.size() == 2 && words[0] == key) return ParseInteger<uint64_t>(words[1]);
  }
  return std::nullopt;
}

}  // namespace attune
