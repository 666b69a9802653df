#include "operator/kube/base64.h"

#include <algorithm>
#include <cstdint>

namespace attune::kube {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

StatusOr<std::string> Base64Decode(std::string_view text) {
  std::string decoded;
  uint32_t bits = 0;
  int count = 0, padding = 0;
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    size_t value = c == '=' ? 0 : kAlphabet.find(c);
    if (value == std::string_view::npos || (padding > 0 && c != '=')) {
      return Error(StatusCode::kInvalidArgument, "not base64: a character outside its alphabet");
    }
    padding += c == '=' ? 1 : 0;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (++count % 4 != 0) continue;
    for (int shift = 16; shift >= 0; shift -= 8) decoded += static_cast<char>(bits >> shift & 0xFF);
  }
  if (count % 4 != 0 || padding > 2) return Error(StatusCode::kInvalidArgument, "not base64: wrong length");
  decoded.resize(decoded.size() - static_cast<size_t>(padding));
  return decoded;
}

std::string Base64Encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(bytes.size() - at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kAlphabet[bits >> (18 - 6 * i) & 0x3F] : '=';
  }
  return text;
}

}  // namespace attune::kube
