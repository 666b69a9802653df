#include "ps/store/formulas/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::ps::learning_rate_test {
namespace {

TEST(LearningRate, WithoutScheduleItIsOne) {
  EXPECT_EQ(RateFactor({}, 0), 1);
  EXPECT_EQ(RateFactor({}, ~uint64_t{0}), 1);
}

TEST(LearningRate, WarmsUpInEqualParts) {
  const LearningRateSchedule schedule{.warmup_steps = 4};
  EXPECT_FLOAT_EQ(RateFactor(schedule, 0), 0.25F);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 2), 0.75F);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 3), 1);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 1000), 1);
}

TEST(LearningRate, LinearDecayEndsAtItsFinalFactor) {
  const LearningRateSchedule schedule{LearningRateDecay::kLinear, 10, 100, 0.2F};
  EXPECT_FLOAT_EQ(RateFactor(schedule, 10), 1);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 60), 0.6F);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 110), 0.2F);
  EXPECT_FLOAT_EQ(RateFactor(schedule, ~uint64_t{0}), 0.2F);
}

TEST(LearningRate, CosineDecayIsHalfWayInTheMiddle) {
  const LearningRateSchedule schedule{LearningRateDecay::kCosine, 0, 100, 0.0F};
  EXPECT_FLOAT_EQ(RateFactor(schedule, 0), 1);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 25), static_cast<float>((1 + std::sqrt(0.5)) / 2));
  EXPECT_NEAR(RateFactor(schedule, 50), 0.5F, 1e-7);
  EXPECT_NEAR(RateFactor(schedule, 100), 0, 1e-7);
}

TEST(LearningRate, InverseSquareRootContinuesTheWarmUp) {
  const LearningRateSchedule schedule{LearningRateDecay::kInverseSquareRoot, 100, 0, 0.1F};
  EXPECT_FLOAT_EQ(RateFactor(schedule, 99), 1);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 100), 1);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 400), 0.5F);
  EXPECT_FLOAT_EQ(RateFactor(schedule, 1'000'000), 0.1F) << "never below the final factor";
  EXPECT_FLOAT_EQ(RateFactor({LearningRateDecay::kInverseSquareRoot, 0, 0, 0}, 0), 1);
  EXPECT_FLOAT_EQ(RateFactor({LearningRateDecay::kInverseSquareRoot, 0, 0, 0}, 4), 0.5F);
}

}  // namespace
}  // namespace attune::ps::learning_rate_test
