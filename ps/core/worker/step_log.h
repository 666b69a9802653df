// The steps that a worker has ended, what they came to, and how far they count: a step counts once all pushes that were
// issued until its end are settled. Externally synchronized.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>

#include "ps/core/protocol/ids.h"

namespace attune::ps {

class StepLog {
 public:
  static constexpr uint64_t kSamplesPerStepMax = uint64_t{1} << 32;  // so that no sum of a job wraps

  // A step has ended with this mean loss per sample. A sum that is no finite number stays out.
  void End(uint64_t samples, double loss) {
    ++steps_;
    samples = std::min(samples, kSamplesPerStepMax);
    samples_ += samples;
    const uint64_t weight = std::max<uint64_t>(1, samples);
    const double loss_sum = loss_sum_ + loss * static_cast<double>(weight);
    if (!std::isfinite(loss_sum)) return;
    loss_sum_ = loss_sum;
    loss_samples_ += weight;
  }
  // What has ended so far, and this clock, count once all pushes up to `issued` are settled.
  void Mark(uint64_t clock, SequenceNumber issued) {
    if (!marks_.empty() && marks_.back().issued == issued) marks_.pop_back();
    marks_.push_back({.clock = clock, .steps = steps_, .issued = issued});
  }
  // All pushes up to this one are settled. True when the clock that counts has risen.
  bool Settle(SequenceNumber settled) {
    const uint64_t before = settled_clock_;
    while (!marks_.empty() && marks_.front().issued <= settled) {
      settled_clock_ = marks_.front().clock;
      settled_steps_ = marks_.front().steps;
      marks_.pop_front();
    }
    return settled_clock_ > before;
  }
  // The worker begins at this clock.
  void StartAt(uint64_t clock) { settled_clock_ = clock; }

  uint64_t steps() const { return steps_; }                  // ended
  uint64_t settled_steps() const { return settled_steps_; }  // that count
  uint64_t settled_clock() const { return settled_clock_; }
  double loss_sum() const { return loss_sum_; }  // over loss_samples()
  uint64_t loss_samples() const { return loss_samples_; }
  uint64_t samples() const { return samples_; }

 private:
  struct StepMark {
    uint64_t clock;
    uint64_t steps;
    SequenceNumber issued;
  };
  uint64_t steps_ = 0, settled_steps_ = 0, settled_clock_ = 0;
  std::deque<StepMark> marks_;  // ascending
  double loss_sum_ = 0;
  uint64_t loss_samples_ = 0, samples_ = 0;
};

}  // namespace attune::ps
