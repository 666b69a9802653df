#include "operator/local/api/service_tokens.h"

#include <algorithm>
#include <utility>

#include "operator/local/api/rules/identity.h"

namespace attune::local {

using kube::Json;

StatusOr<std::string> ServiceTokens::Issue(const Json& pod, const std::vector<std::string>& audiences, WallTime expires,
                                           WallTime now, const Exists& exists) {
  std::erase_if(tokens_,
                [&](const auto& entry) { return entry.second.expires <= now || !exists(entry.second.pod_uid); });
  if (tokens_.size() >= kTokensMax) {
    return Error(StatusCode::kResourceExhausted,
                 "too many service-account tokens are valid at once; delete pods that have ended");
  }
  std::string account(kube::StringAt(pod, {"spec", "serviceAccountName"}));
  if (account.empty()) account = "default";
  std::string token = RandomHex(32);
  tokens_[token] = {kube::KeyOf(pod), std::string(kube::Uid(pod)), std::move(account), audiences, expires};
  return token;
}

Json ServiceTokens::Review(const Json& review, WallTime now, const Exists& exists) const {
  Json result = review;
  result["status"] = Json{{"authenticated", false}};
  const auto found = tokens_.find(std::string(kube::StringAt(review, {"spec", "token"})));
  if (found == tokens_.end() || found->second.expires <= now || !exists(found->second.pod_uid)) {
    result["status"]["error"] = "[invalid bearer token]";
    return result;
  }
  const Token& token = found->second;
  Json audiences = Json::array();
  for (const Json& wanted : kube::At(review, {"spec", "audiences"})) {
    if (wanted.is_string() &&
        std::find(token.audiences.begin(), token.audiences.end(), wanted.get<std::string>()) != token.audiences.end()) {
      audiences.push_back(wanted);
    }
  }
  if (audiences.empty()) {
    result["status"]["error"] = "[invalid bearer token, token audiences do not match]";
    return result;
  }
  result["status"] =
      Json{{"authenticated", true},
           {"audiences", std::move(audiences)},
           {"user",
            {{"username", "system:serviceaccount:" + token.pod.name_space + ":" + token.service_account},
             {"groups",
              {"system:serviceaccounts", "system:serviceaccounts:" + token.pod.name_space, "system:authenticated"}},
             {"extra",
              {{"authentication.kubernetes.io/pod-name", Json::array({token.pod.name})},
               {"authentication.kubernetes.io/pod-uid", Json::array({token.pod_uid})}}}}}};
  return result;
}

}  // namespace attune::local
