// How far ahead: the rate of steps, the time that a fetch takes, and the steps that follow from both.
#include <gtest/gtest.h>

#include <cmath>

#include "ps/core/intent/look_ahead_window.h"
#include "ps/core/intent/step_rate.h"

namespace attune::ps::look_ahead_test {
namespace {

using std::chrono::milliseconds;

// By adding up the probabilities.
uint64_t SlowPoissonBound(double mean) {
  double term = std::exp(-mean), sum = term;
  uint64_t n = 0;
  while (sum < 0.9999) sum += term *= mean / static_cast<double>(++n);
  return n;
}

TEST(PoissonBound, IsTheQuantileOfTheDistribution) {
  const std::pair<double, uint64_t> published[] = {{1, 6},   {2, 9},     {4, 13},    {10, 24},
                                                   {20, 39}, {100, 139}, {200, 255}, {600, 693}};
  for (const auto& [mean, bound] : published) EXPECT_EQ(PoissonBound(mean), bound) << mean;
  for (double mean = 0.5; mean < 300; mean *= 1.07) EXPECT_EQ(PoissonBound(mean), SlowPoissonBound(mean)) << mean;
}

TEST(LookAheadWindow, AssumesTenMillisecondsBeforeTheFirstFetch) {
  LookAheadWindow window;
  EXPECT_EQ(window.fetch_time(), milliseconds(10));
  EXPECT_EQ(window.Steps(0), 6U) << "one step is expected at the least";
  EXPECT_EQ(window.Steps(100), 9U) << "a mean of two";
  EXPECT_EQ(window.Steps(900), 24U) << "a mean of ten";
}

TEST(LookAheadWindow, TakesTheSlowestOfAHundredFetches) {
  LookAheadWindow window;
  for (int i = 1; i <= 256; ++i) window.Fetched(milliseconds(i % 64 == 0 ? 50 : 1));
  EXPECT_EQ(window.fetch_time(), milliseconds(50)) << "4 of 256 are slow, more than one in a hundred";
  for (int i = 0; i < 256; ++i) window.Fetched(milliseconds(1));
  EXPECT_EQ(window.fetch_time(), milliseconds(1)) << "the last 256 count";
}

class Steps {
 public:
  void Go(int count, Duration step, Duration pause = {}) {
    for (int i = 0; i < count; ++i) {
      rate.Began(now_);
      rate.Ended(now_ += step);
      now_ += pause;
    }
  }
  StepRate rate;

 private:
  MonotonicTime now_{};
};

TEST(StepRate, IsThatOfTheLastSixteenSteps) {
  Steps steps;
  EXPECT_EQ(steps.rate.per_second(), 0);
  steps.Go(3, milliseconds(10));
  EXPECT_NEAR(steps.rate.per_second(), 100, 1e-6);
  steps.Go(16, milliseconds(2));
  EXPECT_NEAR(steps.rate.per_second(), 500, 1e-6);
}

TEST(StepRate, WaitsForThePaceCountForNothing) {
  Steps steps;
  steps.Go(40, milliseconds(4), milliseconds(400));
  EXPECT_NEAR(steps.rate.per_second(), 250, 1e-6);
}

TEST(StepRate, FallsSlowlyAfterAPause) {
  Steps steps;
  steps.Go(64, milliseconds(2));
  steps.Go(16, milliseconds(20));
  EXPECT_NEAR(steps.rate.per_second(), 0.9 * 500 + 0.1 * 50, 1);
  steps.Go(16 * 40, milliseconds(20));
  EXPECT_NEAR(steps.rate.per_second(), 50, 10);
}

}  // namespace
}  // namespace attune::ps::look_ahead_test
