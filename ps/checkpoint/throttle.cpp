#include "ps/checkpoint/throttle.h"

#include <algorithm>

namespace attune::ps {

Duration RateLimit::Take(uint64_t bytes, MonotonicTime now) {
  constexpr Duration kBurst = std::chrono::milliseconds(250);
  if (rate_ <= 0) return Duration::zero();
  if (!started_) free_at_ = now;
  started_ = true;
  free_at_ = std::max(free_at_, now - kBurst) +
             std::chrono::duration_cast<Duration>(std::chrono::duration<double>(static_cast<double>(bytes) / rate_));
  return std::max(Duration::zero(), free_at_ - now);
}

Status Throttle::Take(uint64_t bytes) {
  const MutexLock lock(mutex_);
  const Duration wait = limit_.Take(bytes, time_.Now());
  const auto is_cancelled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_cancelled_; };
  if (wait > Duration::zero()) cancelled_.WaitFor(mutex_, wait, is_cancelled);
  if (is_cancelled_) return Error(StatusCode::kCancelled, "writing the checkpoint was called off");
  bytes_ += bytes;
  return OkStatus();
}

void Throttle::Cancel() {
  const MutexLock lock(mutex_);
  is_cancelled_ = true;
  cancelled_.NotifyAll();
}

uint64_t Throttle::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace attune::ps
