// The loss that a goal is compared with: the mean over a window, then exponential smoothing over windows, so that one
// noisy step does not end a job. Externally synchronized.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/time_source.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

class SmoothedLoss {
 public:
  explicit SmoothedLoss(Duration window) : window_(window) {}

  // The first window begins. Before that no window is closed.
  void Begin(MonotonicTime now) { window_end_ = now + window_; }
  // Continues from an earlier coordinator's figures.
  void Restore(std::optional<double> value, uint64_t windows) {
    has_value_ = value.has_value();
    smoothed_ = value.value_or(0);
    windows_ = windows;
  }

  void Add(double loss_sum, uint64_t samples) {
    sum_ += loss_sum;
    samples_ += samples;
  }
  // Closes the window if it is over. One without samples, or with a mean that is no number, counts for nothing.
  void CloseWindow(MonotonicTime now) {
    if (now < window_end_) return;
    window_end_ = now + window_;
    const double mean = sum_ / static_cast<double>(samples_);
    const bool counts = samples_ > 0 && std::isfinite(mean);
    sum_ = 0;
    samples_ = 0;
    if (!counts) return;
    constexpr double kNewest = 0.3;
    smoothed_ = has_value_ ? (1 - kNewest) * smoothed_ + kNewest * mean : mean;
    has_value_ = true;
    windows_ = CappedSum(windows_, 1);
  }

  std::optional<double> value() const { return has_value_ ? std::optional(smoothed_) : std::nullopt; }
  uint64_t windows() const { return windows_; }
  bool Reaches(double target) const {
    constexpr uint64_t kWindowsMin = 5;  // before that the smoothed loss is mostly its first window
    return has_value_ && windows_ >= kWindowsMin && smoothed_ <= target;
  }

 private:
  Duration window_;
  MonotonicTime window_end_ = kNever;
  double sum_ = 0;
  uint64_t samples_ = 0;
  bool has_value_ = false;
  double smoothed_ = 0;
  uint64_t windows_ = 0;
};

}  // namespace attune::ps
