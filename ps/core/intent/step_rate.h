// How many steps a second a worker's program goes through, to know how many of them a fetch takes: the larger one of
// the rate of the last 16 steps and of its smoothed past, so that a pause does not shorten the look-ahead at once
// (adaptive parameter management, AdaPM, section 4). What passes between steps, for the pace or a checkpoint, counts
// for nothing. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/time_source.h"

namespace attune::ps {

class StepRate {
 public:
  void Began(MonotonicTime now) { began_ = now; }
  void Ended(MonotonicTime now) {
    if (!began_) return;
    Duration& slot = last_[ended_ % kSteps];
    total_ += std::max(now - *began_, kStepMin) - slot;
    slot = std::max(now - *began_, kStepMin);
    began_.reset();
    if (++ended_ % kSteps == 0) smoothed_ = smoothed_ == 0 ? Recent() : kKept * smoothed_ + (1 - kKept) * Recent();
  }
  // 0 before the first step has ended.
  double per_second() const { return std::max(Recent(), smoothed_); }

 private:
  static constexpr size_t kSteps = 16;
  static constexpr double kKept = 0.9;
  static constexpr Duration kStepMin = std::chrono::microseconds(1);

  double Recent() const { return ended_ == 0 ? 0 : static_cast<double>(std::min(ended_, kSteps)) / Seconds(total_); }

  std::array<Duration, kSteps> last_{};
  Duration total_{};
  size_t ended_ = 0;
  double smoothed_ = 0;
  std::optional<MonotonicTime> began_;
};

}  // namespace attune::ps
