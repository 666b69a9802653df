// Tokens of the service accounts of pods, and reviews of them: what a TokenRequest and a TokenReview of a real API
// server do. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::local {

class ServiceTokens {
 public:
  using Exists = std::function<bool(std::string_view pod_uid)>;  // whether the pod is still there

  // Valid for these audiences until `expires`, or until the pod is gone. ResourceExhausted with kTokensMax of them.
  StatusOr<std::string> Issue(const kube::Json& pod, const std::vector<std::string>& audiences, WallTime expires,
                              WallTime now, const Exists& exists);
  // The TokenReview with its status.
  kube::Json Review(const kube::Json& review, WallTime now, const Exists& exists) const;

  static constexpr size_t kTokensMax = 65536;

 private:
  struct Token {
    kube::ObjectKey pod;
    std::string pod_uid;
    std::string service_account;
    std::vector<std::string> audiences;
    WallTime expires;
  };
  std::map<std::string, Token> tokens_;
};

}  // namespace attune::local
