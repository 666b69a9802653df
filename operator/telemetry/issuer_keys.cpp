#include "operator/telemetry/issuer_keys.h"

#include <utility>

namespace attune::telemetry {
StatusOr<std::shared_ptr<const TokenIssuer>> IssuerKeys::For(const std::string& key_id) {
  const MonotonicTime now = time_.Now();
  {
    const MutexLock lock(mutex_);
    const bool is_fresh = read_at_ && now - *read_at_ < kKept;
    const bool is_known = issuer_ != nullptr && issuer_->keys.contains(key_id);
    const bool was_tried = tried_at_ && now - *tried_at_ < kPause;
    if (is_fresh && (is_known || was_tried)) return issuer_;
    if (was_tried) return Error(StatusCode::kUnavailable, "the API server's keys could not be read a moment ago");
    tried_at_ = now;
  }
  ASSIGN_OR_RETURN(TokenIssuer issuer, Read());
  auto shared = std::make_shared<const TokenIssuer>(std::move(issuer));
  const MutexLock lock(mutex_);
  issuer_ = shared;
  read_at_ = now;
  return shared;
}

StatusOr<TokenIssuer> IssuerKeys::Read() {
  const auto read = [&](const char* path) -> StatusOr<kube::Json> {
    auto document = api_.GetDocument(path, {.timeout = kCallTimeout});
    if (document.ok()) return document;
    return Error(StatusCode::kUnavailable,
                 ToString(Annotate(document.status(), "reading the keys of sidecars' tokens")));
  };
  ASSIGN_OR_RETURN(const kube::Json configuration, read("/.well-known/openid-configuration"));
  ASSIGN_OR_RETURN(const kube::Json keys, read("/openid/v1/jwks"));
  return ReadIssuer(configuration, keys);
}

}  // namespace attune::telemetry
