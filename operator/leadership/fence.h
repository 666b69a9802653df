// Until when this process may act as leader: set by its candidate, asked before each write. Thread-safe.
#pragma once

#include <atomic>

#include "base/time_source.h"

namespace attune::leadership {

class Fence {
 public:
  // `time` is the clock of the candidate, and must outlive the fence.
  explicit Fence(const TimeSource& time) : time_(time) {}

  void OpenUntil(MonotonicTime until) { until_ = until.time_since_epoch().count(); }

  // How much of the right is left; nothing is left before the first one.
  Duration Left() const {
    const Duration left = MonotonicTime(Duration(until_.load())) - time_.Now();
    return left > Duration::zero() ? left : Duration::zero();
  }
  bool IsOpen() const { return Left() > Duration::zero(); }

 private:
  const TimeSource& time_;
  std::atomic<Duration::rep> until_ = 0;
};

}  // namespace attune::leadership
