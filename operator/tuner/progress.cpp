#include "operator/tuner/progress.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attune::tuner {
namespace {

std::vector<ProgressSample> Recent(std::span<const ProgressSample> samples) {
  std::vector<ProgressSample> finite;
  for (const ProgressSample& sample : samples) {
    if (std::isfinite(sample.seconds) && std::isfinite(sample.fraction)) finite.push_back(sample);
  }
  if (finite.size() <= kSamplesMin) return finite;
  const double half = (finite.front().seconds + finite.back().seconds) / 2;
  auto begin = std::lower_bound(finite.begin(), finite.end(), half,
                                [](const ProgressSample& sample, double time) { return sample.seconds < time; });
  begin = std::min(begin, finite.end() - kSamplesMin);
  finite.erase(finite.begin(), begin);
  if (finite.size() <= kSamplesMax) return finite;
  std::vector<ProgressSample> thinned;
  for (size_t i = 0; i < kSamplesMax; ++i) thinned.push_back(finite[i * (finite.size() - 1) / (kSamplesMax - 1)]);
  return thinned;
}

std::vector<double> SortedSlopes(const std::vector<ProgressSample>& samples) {
  std::vector<double> slopes;
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t j = i + 1; j < samples.size(); ++j) {
      const double time = samples[j].seconds - samples[i].seconds;
      if (time > 0) slopes.push_back((samples[j].fraction - samples[i].fraction) / time);
    }
  }
  std::sort(slopes.begin(), slopes.end());
  return slopes;
}

double MedianOfSorted(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double TimeAt(double work, double rate) { return rate > 0 ? work / rate : std::numeric_limits<double>::infinity(); }

}  // namespace

std::optional<RemainingTime> EstimateRemaining(std::span<const ProgressSample> samples, double now_seconds) {
  const std::vector<ProgressSample> recent = Recent(samples);
  if (recent.size() < kSamplesMin) return std::nullopt;
  const ProgressSample& last = recent.back();
  if (last.fraction >= 1) return RemainingTime{};
  const std::vector<double> slopes = SortedSlopes(recent);
  if (slopes.empty()) return std::nullopt;
  const double rate = MedianOfSorted(slopes);
  if (rate <= 0) return std::nullopt;

  // Sen 1968: the interval of the slope lies between the ranks (N -/+ z sqrt(Var S)) / 2 of the N slopes.
  constexpr double kNormalQuantile95 = 1.6449;
  const auto n = static_cast<double>(recent.size());
  const double deviation = kNormalQuantile95 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const auto count = static_cast<double>(slopes.size());
  const auto rank = [&](double position) { return slopes[static_cast<size_t>(std::clamp(position, 0.0, count - 1))]; };
  const double slow = rank(std::floor((count - deviation) / 2));
  const double fast = rank(std::ceil((count + deviation) / 2));

  const double work = 1 - last.fraction;
  const double since = std::max(0.0, now_seconds - last.seconds);  // part of the time passed already
  RemainingTime remaining;
  remaining.seconds = std::max(0.0, TimeAt(work, rate) - since);
  remaining.low = std::max(0.0, TimeAt(work, fast) - since);
  remaining.high = std::max(0.0, TimeAt(work, slow) - since);
  return remaining;
}

}  // namespace attune::tuner
