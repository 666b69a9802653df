#include "ps/runtime/process/window.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace attune::ps {

// Values below 2^kSubBits have a bucket each; above, the exponent selects a group and the next kSubBits bits the
// bucket.
int DurationHistogram::BucketOf(uint64_t nanoseconds) {
  if (nanoseconds < (1U << kSubBits)) return static_cast<int>(nanoseconds);
  const int exponent = static_cast<int>(std::bit_width(nanoseconds)) - 1;
  const int group = exponent - kSubBits + 1;
  const auto within = static_cast<int>((nanoseconds >> (exponent - kSubBits)) & ((1U << kSubBits) - 1));
  return std::min((group << kSubBits) + within, kBuckets - 1);
}

double DurationHistogram::MiddleOf(int bucket) {
  const int group = bucket >> kSubBits;
  const int within = bucket & ((1 << kSubBits) - 1);
  if (group == 0) return within;
  return std::ldexp(static_cast<double>((1 << kSubBits) + within) + 0.5, group - 1);
}

void DurationHistogram::Add(Duration value) {
  value = std::max(value, Duration::zero());
  ++counts_[static_cast<size_t>(BucketOf(static_cast<uint64_t>(value.count())))];
  ++total_;
  sum_ += value;
  max_ = std::max(max_, value);
}

double DurationHistogram::Quantile(double q) const {
  const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(total_)));
  uint64_t seen = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[static_cast<size_t>(bucket)];
    if (seen >= rank) return std::min(MiddleOf(bucket) * 1e-9, Seconds(max_));
  }
  return Seconds(max_);
}

QuantileSummary DurationHistogram::Summary() const {
  if (total_ == 0) return {};
  return {.p50 = Quantile(0.5),
          .p90 = Quantile(0.9),
          .p99 = Quantile(0.99),
          .max = Seconds(max_),
          .count = total_,
          .mean = Seconds(sum_) / static_cast<double>(total_)};
}

void DurationHistogram::Clear() {
  counts_.fill(0);
  total_ = 0;
  sum_ = max_ = {};
}

void WeightedMoments::Add(double value, double weight) {
  if (weight <= 0) return;
  weight_ += weight;
  const double delta = value - mean_;
  mean_ += delta * weight / weight_;
  sum_of_squares_ += weight * delta * (value - mean_);
  ++count_;
}

void WorkerWindowBuilder::AddPullWait(Duration waited) {
  waited_in_step_ += waited;
  current_.pull_wait_seconds += Seconds(waited);
}

void WorkerWindowBuilder::AddPushWait(Duration waited) {
  waited_in_step_ += waited;
  current_.push_wait_seconds += Seconds(waited);
}

void WorkerWindowBuilder::EndStep(MonotonicTime now, uint64_t samples, double loss) {
  const Duration step = now - step_start_;
  step_.Add(step);
  compute_.Add(step - waited_in_step_);
  // A step without samples still counts its loss once.
  if (std::isfinite(loss)) loss_.Add(loss, static_cast<double>(std::max<uint64_t>(samples, 1)));
  ++current_.steps;
  current_.samples += samples;
  SkipTo(now);
}

void WorkerWindowBuilder::BeginStep(MonotonicTime now) {
  current_.pace_wait_seconds += Seconds(now - step_start_);
  SkipTo(now);
}

void WorkerWindowBuilder::SkipTo(MonotonicTime now) {
  step_start_ = now;
  waited_in_step_ = {};
}

WorkerWindowSummary WorkerWindowBuilder::Take(MonotonicTime now) {
  WorkerWindowSummary summary = std::exchange(current_, {});
  summary.duration = now - window_start_;
  summary.step_seconds = step_.Summary();
  summary.compute_seconds = compute_.Summary();
  summary.pull_seconds = pull_.Summary();
  summary.push_seconds = push_.Summary();
  summary.loss_mean = loss_.mean();
  summary.loss_variance = loss_.variance();
  summary.loss_count = loss_.count();
  window_start_ = now;
  step_.Clear();
  compute_.Clear();
  pull_.Clear();
  push_.Clear();
  loss_ = {};
  return summary;
}

}  // namespace attune::ps
