// Who is at the other end of a stream: the sidecar's service-account token is reviewed by the API server, and the pod it was
// issued for must be the one the hello names and belong to that job. Blocking; the service calls it from threads of its own.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"

namespace attune::telemetry {

// Checks sizes, protocol version and role: before anything is asked of the API server.
Status CheckHello(const v1::SidecarHello& hello);

// Thread-safe. `api` and `time` must outlive it.
class Authenticator {
 public:
  Authenticator(kube::Api& api, const TimeSource& time) : api_(api), time_(time) {}

  // Unauthenticated: no or no valid token. PermissionDenied: a valid token of another pod, or a pod of another job.
  // Unavailable: the API server cannot tell now; the sidecar tries again.
  Status Check(const std::string& token, const v1::SidecarHello& hello);

 private:
  struct Identity {
    std::string name_space, pod, pod_uid;
    MonotonicTime valid_until;
  };
  // Reviewed tokens are believed for this long: a reconnecting sidecar does not cost a review.
  static constexpr Duration kCacheTime = std::chrono::seconds(60);
  static constexpr size_t kCacheMax = 10'000;
  static constexpr size_t kTokenBytesMax = 16 << 10;

  StatusOr<Identity> Review(const std::string& token);
  Status CheckPod(const v1::SidecarHello& hello);

  kube::Api& api_;
  const TimeSource& time_;
  std::mutex mutex_;
  std::map<std::string, Identity> cache_;  // by token; guarded by mutex_
};

}  // namespace attune::telemetry
