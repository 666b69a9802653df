#include "base/fit_text.h"

namespace attune {
namespace {

// Length of the well-formed UTF-8 character that `text` begins with; 0 when it begins with none (RFC 3629).
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong_or_surrogate = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
                                     (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong_or_surrogate ? 0 : length;
}

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F; }

}  // namespace

std::string FitText(std::string_view text, size_t bytes_max) {
  constexpr std::string_view kCut = "...";
  std::string fitted;
  size_t cut_at = 0;  // where "..." still fits
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const bool replaced = length == 0 || (length == 1 && IsControl(text.front()));
    const std::string_view next = replaced ? "?" : text.substr(0, length);
    if (fitted.size() + next.size() > bytes_max) {
      fitted.resize(cut_at);
      return bytes_max >= kCut.size() ? fitted + std::string(kCut) : fitted;
    }
    fitted += next;
    if (fitted.size() + kCut.size() <= bytes_max) cut_at = fitted.size();
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return fitted;
}

}  // namespace attune
