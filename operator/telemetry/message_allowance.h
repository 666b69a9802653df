// How many messages a stream may still send. A sidecar says one thing a second, and after an outage what it kept
// meanwhile; a stream that sends faster is read from no more often than kPerSecond. Pure; not thread-safe.
#pragma once

#include <algorithm>

#include "base/time_source.h"

namespace attune::telemetry {

class MessageAllowance {
 public:
  static constexpr double kAtOnce = 600;
  static constexpr double kPerSecond = 20;

  explicit MessageAllowance(MonotonicTime now) : at_(now) {}
  void Take(MonotonicTime now) {
    Refill(now);
    left_ -= 1;
  }
  bool IsUsedUp(MonotonicTime now) {
    Refill(now);
    return left_ < 1;
  }

 private:
  void Refill(MonotonicTime now) {
    left_ = std::min(kAtOnce, left_ + kPerSecond * Seconds(now - at_));
    at_ = now;
  }
  double left_ = kAtOnce;
  MonotonicTime at_;
};

}  // namespace attune::telemetry
