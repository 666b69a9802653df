#include "ps/runtime/process/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <vector>

#include "base/random.h"

namespace attune::ps::window_test {
namespace {

using std::chrono::milliseconds;

constexpr MonotonicTime kStart{std::chrono::seconds(100)};

uint64_t Seed() {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

TEST(DurationHistogramTest, QuantilesAreWithinOneThirtySecondOfSortedOnes) {
  const uint64_t seed = Seed();
  std::cout << "ATTUNE_TEST_SEED=" << seed << "\n";
  Random random(seed);
  DurationHistogram histogram;
  std::vector<double> twin;
  for (int i = 0; i < 5000; ++i) {
    const Duration value(static_cast<int64_t>(std::exp(random.Uniform() * 25)));
    histogram.Add(value);
    twin.push_back(Seconds(value));
  }
  std::sort(twin.begin(), twin.end());
  const QuantileSummary summary = histogram.Summary();
  const auto at = [&](double q) { return twin[static_cast<size_t>(std::ceil(q * 5000)) - 1]; };
  EXPECT_NEAR(summary.p50, at(0.5), at(0.5) / 32);
  EXPECT_NEAR(summary.p90, at(0.9), at(0.9) / 32);
  EXPECT_NEAR(summary.p99, at(0.99), at(0.99) / 32);
  EXPECT_DOUBLE_EQ(summary.max, twin.back());
  EXPECT_EQ(summary.count, 5000U);
}

TEST(DurationHistogramTest, ExtremesStayInRange) {
  DurationHistogram histogram;
  histogram.Add(Duration(-5));
  histogram.Add(Duration::max());
  EXPECT_EQ(histogram.Summary().count, 2U);
  EXPECT_DOUBLE_EQ(histogram.Summary().max, Seconds(Duration::max()));
}

TEST(WeightedMomentsTest, AgreeWithTheTwoPassFormulas) {
  Random random(Seed());
  WeightedMoments moments;
  std::vector<std::pair<double, double>> values;
  for (int i = 0; i < 1000; ++i) values.emplace_back(1000 + random.Normal(), 1 + static_cast<double>(random.Below(9)));
  double weight = 0, mean = 0, variance = 0;
  for (auto [value, w] : values) moments.Add(value, w), weight += w, mean += value * w;
  mean /= weight;
  for (auto [value, w] : values) variance += w * (value - mean) * (value - mean) / weight;
  EXPECT_NEAR(moments.mean(), mean, 1e-9);
  EXPECT_NEAR(moments.variance(), variance, 1e-9);
}

TEST(WorkerWindowTest, StepIsComputeAndWaiting) {
  WorkerWindowBuilder window(kStart);
  window.AddPull(10);
  window.AddPullWait(milliseconds(30));
  window.AddPush(4);
  window.AddPushWait(milliseconds(20));
  window.EndStep(kStart + milliseconds(100), 50, 2.0);
  window.EndStep(kStart + milliseconds(200), 150, 4.0);
  const WorkerWindowSummary summary = window.Take(kStart + milliseconds(1000));
  EXPECT_EQ(summary.duration, milliseconds(1000));
  EXPECT_EQ(summary.steps, 2U);
  EXPECT_EQ(summary.samples, 200U);
  EXPECT_EQ(summary.pulled_keys, 10U);
  EXPECT_EQ(summary.pushed_keys, 4U);
  EXPECT_DOUBLE_EQ(summary.pull_wait_seconds, 0.03);
  EXPECT_DOUBLE_EQ(summary.push_wait_seconds, 0.02);
  EXPECT_DOUBLE_EQ(summary.loss_mean, 3.5) << "weighted by samples";
  EXPECT_DOUBLE_EQ(summary.loss_variance, 0.75);
  EXPECT_NEAR(summary.step_seconds.p50, 0.1, 0.1 / 32);
  EXPECT_NEAR(summary.compute_seconds.p50, 0.05, 0.05 / 32);
  EXPECT_DOUBLE_EQ(summary.compute_seconds.max, 0.1);
}

TEST(WorkerWindowTest, PullsAndPushesHaveTimesOfTheirOwn) {
  WorkerWindowBuilder window(kStart);
  for (int i = 1; i <= 100; ++i) window.AddPullTime(milliseconds(i));
  window.AddPushTime(milliseconds(5));
  WorkerWindowSummary summary = window.Take(kStart + milliseconds(1000));
  EXPECT_EQ(summary.pull_seconds.count, 100U);
  EXPECT_NEAR(summary.pull_seconds.p50, 0.05, 0.05 / 32);
  EXPECT_NEAR(summary.pull_seconds.p99, 0.099, 0.099 / 32);
  EXPECT_EQ(summary.push_seconds.count, 1U);
  EXPECT_DOUBLE_EQ(summary.push_seconds.max, 0.005);
  EXPECT_DOUBLE_EQ(summary.pull_wait_seconds, 0) << "the program did not wait for them";
  summary = window.Take(kStart + milliseconds(2000));
  EXPECT_EQ(summary.pull_seconds.count, 0U);
  EXPECT_EQ(summary.push_seconds.count, 0U);
}

TEST(WorkerWindowTest, NextWindowStartsEmptyButTheOpenStepGoesOn) {
  WorkerWindowBuilder window(kStart);
  window.EndStep(kStart + milliseconds(10), 1, 1.0);
  window.Take(kStart + milliseconds(1000));
  window.EndStep(kStart + milliseconds(1500), 1, std::numeric_limits<double>::quiet_NaN());
  const WorkerWindowSummary summary = window.Take(kStart + milliseconds(2000));
  EXPECT_EQ(summary.steps, 1U);
  EXPECT_EQ(summary.loss_count, 0U) << "NaN means no loss";
  EXPECT_DOUBLE_EQ(summary.step_seconds.max, 1.49);
}

TEST(WorkerWindowTest, MeanSeesTheStepsThatTheMedianDoesNot) {
  WorkerWindowBuilder window(kStart);
  for (const int end : {10, 20, 30, 130}) window.EndStep(kStart + milliseconds(end), 1, 1.0);
  const WorkerWindowSummary summary = window.Take(kStart + milliseconds(1000));
  EXPECT_NEAR(summary.step_seconds.p50, 0.01, 0.01 / 32);
  EXPECT_DOUBLE_EQ(summary.step_seconds.mean, 0.0325);
}

TEST(WorkerWindowTest, WaitingForThePaceIsNoPartOfAStep) {
  WorkerWindowBuilder window(kStart);
  window.EndStep(kStart + milliseconds(100), 1, 1.0);
  window.BeginStep(kStart + milliseconds(400));
  window.EndStep(kStart + milliseconds(500), 1, 1.0);
  const WorkerWindowSummary summary = window.Take(kStart + milliseconds(1000));
  EXPECT_DOUBLE_EQ(summary.step_seconds.max, 0.1);
  EXPECT_DOUBLE_EQ(summary.pace_wait_seconds, 0.3);
}

TEST(WorkerWindowTest, SkippedTimeBelongsToNoStep) {
  WorkerWindowBuilder window(kStart);
  window.SkipTo(kStart + milliseconds(900));
  window.EndStep(kStart + milliseconds(1000), 1, 1.0);
  EXPECT_DOUBLE_EQ(window.Take(kStart + milliseconds(1000)).step_seconds.max, 0.1);
}

}  // namespace
}  // namespace attune::ps::window_test
