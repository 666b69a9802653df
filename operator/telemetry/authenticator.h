// Who is at the other end of a stream: the sidecar's service-account token is reviewed by the API server, or verified
// by its keys where the operator may have no reviews, and the pod it was issued for must be the one the hello names and
// be controlled by that job; whether there is such a job in that namespace is for the store to say. What was reviewed
// is remembered, refused tokens too, and a source that fails again and again has to wait. Blocking; the service calls
// it from threads of its own.
#pragma once

#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/telemetry/expiring_cache.h"
#include "operator/telemetry/failure_budget.h"
#include "operator/telemetry/issued_token.h"
#include "operator/telemetry/issuer_keys.h"
#include "operator/telemetry/token_proof.h"

namespace attune::telemetry {

// Checks sizes, protocol version and role: before anything is asked of the API server.
Status CheckHello(const v1::SidecarHello& hello);

// Thread-safe. `api` and `time` must outlive it.
class Authenticator {
 public:
  Authenticator(kube::Api& api, const TimeSource& time, TokenProof proof)
      : api_(api), time_(time), proof_(proof), keys_(api, time) {}

  // `source`: the address the stream comes from.
  // Unauthenticated: no or no valid token. PermissionDenied: a valid token of another pod, or a pod of another job.
  // ResourceExhausted: that source failed too often of late. Unavailable: the API server cannot answer now. After these
  // two the sidecar tries again.
  Status Check(const std::string& token, const v1::SidecarHello& hello, const std::string& source);

 private:
  // Reviewed tokens are believed for this long: a reconnecting sidecar does not cost a review, nor does one that shows
  // the same useless token again.
  static constexpr Duration kCacheTime = std::chrono::seconds(60);
  static constexpr Duration kRefusedTime = std::chrono::seconds(15);  // shorter: what is true later must not wait long
  static constexpr size_t kCacheMax = 10'000;
  static constexpr size_t kTokenBytesMax = 16 << 10;

  Status CheckIdentity(const std::string& token, const v1::SidecarHello& hello);
  StatusOr<PodIdentity> Identify(const std::string& token);
  StatusOr<PodIdentity> AskForReview(const std::string& token);
  StatusOr<PodIdentity> VerifyByKeys(const std::string& token);
  Status CheckPod(const v1::SidecarHello& hello);

  kube::Api& api_;
  const TimeSource& time_;
  const TokenProof proof_;
  IssuerKeys keys_;
  Mutex mutex_;
  // By the token's SHA-256; what was found last.
  ExpiringCache<PodIdentity> reviewed_ ABSL_GUARDED_BY(mutex_){kCacheTime, kCacheMax};
  ExpiringCache<Status> refused_ ABSL_GUARDED_BY(mutex_){kRefusedTime, kCacheMax};
  FailureBudget failures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::telemetry
