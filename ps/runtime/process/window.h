// What one worker process saw since the last report: step times, waits, counters, loss. Pure: times come as arguments.
// Memory is constant, however many steps a window holds. Externally synchronized.
#pragma once

#include <array>
#include <cstdint>

#include "base/time_source.h"

namespace attune::ps {

struct QuantileSummary {
  double p50 = 0;  // seconds
  double p90 = 0;
  double p99 = 0;
  double max = 0;  // exact, as the mean is; the others are within 1/32 of the true value
  uint64_t count = 0;
  double mean = 0;
};

// Logarithmic histogram of durations: 32 buckets per power of two, so a quantile's relative error is at most 1/32.
class DurationHistogram {
 public:
  void Add(Duration value);
  QuantileSummary Summary() const;
  void Clear();

 private:
  static constexpr int kSubBits = 5;
  static constexpr int kBuckets = (64 - kSubBits) << kSubBits;
  static int BucketOf(uint64_t nanoseconds);
  static double MiddleOf(int bucket);
  double Quantile(double q) const;

  std::array<uint32_t, kBuckets> counts_{};
  uint64_t total_ = 0;
  Duration sum_{}, max_{};
};

// Mean and variance of weighted values in one pass (West 1979, "Updating mean and variance estimates").
class WeightedMoments {
 public:
  void Add(double value, double weight);
  double mean() const { return mean_; }
  double variance() const { return weight_ > 0 ? sum_of_squares_ / weight_ : 0; }
  uint64_t count() const { return count_; }

 private:
  double weight_ = 0;
  double mean_ = 0;
  double sum_of_squares_ = 0;
  uint64_t count_ = 0;
};

// The figures of one closed window.
struct WorkerWindowSummary {
  Duration duration{};
  uint64_t steps = 0;
  uint64_t samples = 0;
  QuantileSummary step_seconds;
  QuantileSummary compute_seconds;  // step minus the waiting for rows within it
  QuantileSummary pull_seconds;     // from the call to its end, of those that were not answered at once
  QuantileSummary push_seconds;
  double pull_wait_seconds = 0;
  double push_wait_seconds = 0;
  double pace_wait_seconds = 0;  // belongs to no step
  uint64_t pulled_keys = 0;
  uint64_t pushed_keys = 0;
  double loss_mean = 0;
  double loss_variance = 0;
  uint64_t loss_count = 0;
};

class WorkerWindowBuilder {
 public:
  explicit WorkerWindowBuilder(MonotonicTime start) : window_start_(start), step_start_(start) {}

  void AddPull(uint64_t keys) { current_.pulled_keys += keys; }
  void AddPush(uint64_t keys) { current_.pushed_keys += keys; }
  void AddPullWait(Duration waited);
  void AddPushWait(Duration waited);
  // One that was sent to other processes has ended after so long, whether the program waited or not.
  void AddPullTime(Duration taken) { pull_.Add(taken); }
  void AddPushTime(Duration taken) { push_.Add(taken); }
  // Ends a step at `now`; the step began where the one before ended. NaN or infinite loss: no loss reported.
  void EndStep(MonotonicTime now, uint64_t samples, double loss);
  // The pace lets the next step begin at `now`; the time since the last one's end was spent waiting for that.
  void BeginStep(MonotonicTime now);
  // The time up to `now` belongs to no step (set-up, evaluation).
  void SkipTo(MonotonicTime now);
  // Closes the window at `now` and begins the next.
  WorkerWindowSummary Take(MonotonicTime now);

 private:
  MonotonicTime window_start_;
  MonotonicTime step_start_;
  Duration waited_in_step_{};
  DurationHistogram step_;
  DurationHistogram compute_;
  DurationHistogram pull_;
  DurationHistogram push_;
  WeightedMoments loss_;
  WorkerWindowSummary current_;
};

}  // namespace attune::ps
