#include "operator/kube/client/impersonation_headers.h"

#include <cctype>
#include <string_view>

namespace attune::kube {
namespace {

// RFC 9110, section 5.6.2, without '%', which begins what is escaped.
bool IsHeaderTokenByte(unsigned char c) {
  constexpr std::string_view kMarks = "!#$&'*+-.^_`|~";
  return c < 128 && (std::isalnum(c) != 0 || kMarks.find(static_cast<char>(c)) != std::string_view::npos);
}

std::string EscapedKey(std::string_view key) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const unsigned char c : key) {
    if (IsHeaderTokenByte(c)) {
      escaped += static_cast<char>(c);
    } else {
      escaped += '%';
      escaped += kDigits[c >> 4];
      escaped += kDigits[c & 15];
    }
  }
  return escaped;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ImpersonationHeaders(const Impersonation& who) {
  std::vector<std::pair<std::string, std::string>> headers;
  if (who.user.empty()) return headers;
  headers.emplace_back("Impersonate-User", who.user);
  if (!who.uid.empty()) headers.emplace_back("Impersonate-Uid", who.uid);
  for (const std::string& group : who.groups) headers.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : who.extra) {
    for (const std::string& value : values) headers.emplace_back("Impersonate-Extra-" + EscapedKey(key), value);
  }
  return headers;
}

}  // namespace attune::kube
