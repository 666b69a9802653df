#include "operator/local/rest/access_token.h"

#include "base/sha256.h"

namespace attune::local {

bool IsBearer(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kBearer = "Bearer ";
  return authorization.starts_with(kBearer) && SameInConstantTime(authorization.substr(kBearer.size()), token);
}

bool TakeTokenFromPath(RestTarget& target, std::string_view token) {
  if (target.segments.size() < 2 || target.segments[0] != "token") return false;
  if (!SameInConstantTime(target.segments[1], token)) return false;
  target.segments.erase(target.segments.begin(), target.segments.begin() + 2);
  return true;
}

}  // namespace attune::local
