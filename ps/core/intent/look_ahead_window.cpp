#include "ps/core/intent/look_ahead_window.h"

#include <algorithm>
#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <vector>

namespace attune::ps {

uint64_t PoissonBound(double mean) {
  constexpr double kShare = 0.9999;
  constexpr double kMeanMax = 1e6;  // beyond that the mean itself is as good
  if (mean > kMeanMax) return static_cast<uint64_t>(mean);
  return static_cast<uint64_t>(std::lround(boost::math::quantile(boost::math::poisson(mean), kShare)));
}

void LookAheadWindow::Fetched(Duration took) {
  times_[fetched_++ % kTimes] = took;
  if (fetched_ > kRecalculateAfter && fetched_ % kRecalculateAfter != 0) return;
  std::vector<Duration> sorted(times_.begin(), times_.begin() + static_cast<ptrdiff_t>(std::min(fetched_, kTimes)));
  const auto quantile = [&](size_t percent) {
    const auto at = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) * percent / 100);
    std::ranges::nth_element(sorted, at);
    return *at;
  };
  fetch_time_ = quantile(99);
  usual_ = quantile(50);
}

uint64_t LookAheadWindow::Steps(double steps_per_second) {
  constexpr double kChange = 0.05;  // of the mean; less changes the quantile by a step at most
  const double mean = steps_per_second * Seconds(fetch_time_) + 1;
  if (std::abs(mean - mean_) > kChange * mean_) {
    mean_ = mean;
    steps_ = std::max<uint64_t>(1, PoissonBound(mean));
  }
  return steps_;
}

}  // namespace attune::ps
