// Keeps background writing below a rate, counts it, and can be called off. Take is called by one thread, the others by
// any.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"

namespace attune::ps {

// When bytes may go at a rate: a bucket that holds a quarter of a second's bytes. Pure.
class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(uint64_t bytes_per_second) : rate_(static_cast<double>(bytes_per_second)) {}
  // How long to wait before these bytes are sent.
  Duration Take(uint64_t bytes, MonotonicTime now);

 private:
  double rate_;
  bool started_ = false;
  MonotonicTime free_at_{};  // what was taken so far has passed by then
};

class Throttle {
 public:
  Throttle(uint64_t bytes_per_second, const TimeSource& time) : time_(time), limit_(bytes_per_second) {}

  // Waits until the bytes may be written. Cancelled after Cancel.
  Status Take(uint64_t bytes);
  void Cancel();
  uint64_t bytes() const;  // taken so far

 private:
  const TimeSource& time_;
  mutable Mutex mutex_;
  CondVar cancelled_;
  RateLimit limit_ ABSL_GUARDED_BY(mutex_);
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune::ps
