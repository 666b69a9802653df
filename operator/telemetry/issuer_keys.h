// The keys by which an API server signs service-account tokens, as it publishes them to all service accounts: read when
// they are needed, and again when a token names one that is not known, since keys are rotated. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/telemetry/issued_token.h"

namespace attune::telemetry {

// What a call to the API server may take.
inline constexpr Duration kCallTimeout = std::chrono::seconds(10);

class IssuerKeys {
 public:
  // Both must outlive it.
  IssuerKeys(kube::Api& api, const TimeSource& time) : api_(api), time_(time) {}

  // Those of now, with the one of that id where there is such a key. Unavailable: the API server cannot be asked now.
  StatusOr<std::shared_ptr<const TokenIssuer>> For(const std::string& key_id);

  // Keys that were withdrawn are believed for as long.
  static constexpr Duration kKept = std::chrono::minutes(5);
  // Between two readings for the sake of keys that are not known: anybody can name one.
  static constexpr Duration kPause = std::chrono::seconds(10);

 private:
  StatusOr<TokenIssuer> Read();

  kube::Api& api_;
  const TimeSource& time_;
  Mutex mutex_;
  std::shared_ptr<const TokenIssuer> issuer_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> read_at_ ABSL_GUARDED_BY(mutex_);   // issuer_
  std::optional<MonotonicTime> tried_at_ ABSL_GUARDED_BY(mutex_);  // to read it
};

}  // namespace attune::telemetry
