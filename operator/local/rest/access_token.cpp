#include "operator/local/rest/access_token.h"

#include <cstddef>

namespace attune::local {

bool SameSecret(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ (b.empty() ? 0 : b[i % b.size()]));
  return difference == 0;
}

bool IsBearer(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kBearer = "Bearer ";
  return authorization.starts_with(kBearer) && SameSecret(authorization.substr(kBearer.size()), token);
}

bool TakeTokenFromPath(RestTarget& target, std::string_view token) {
  if (target.segments.size() < 2 || target.segments[0] != "token" || !SameSecret(target.segments[1], token))
    return false;
  target.segments.erase(target.segments.begin(), target.segments.begin() + 2);
  return true;
}

}  // namespace attune::local
