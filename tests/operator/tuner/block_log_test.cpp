#include "operator/tuner/models/block_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace attune::tuner::block_log_test {
namespace {

TEST(BlockLogTest, SuccessiveWindowsAtOneSettingAreOneObservationOfTheirMedian) {
  BlockLog log(10);
  log.Absorb({.setting = 3, .time = 10, .seconds = 10, .updates = 100});
  log.Absorb({.setting = 3, .time = 20, .seconds = 10, .updates = 30});  // a bad window
  log.Absorb({.setting = 3, .time = 30, .seconds = 10, .updates = 98});
  ASSERT_EQ(log.blocks().size(), 1U);
  EXPECT_NEAR(std::exp(log.blocks()[0].log_seconds), 10.0 / 98, 1e-9);
  EXPECT_DOUBLE_EQ(log.WindowsAt(3), 3);
  EXPECT_DOUBLE_EQ(log.LastSeen(3), 30);
  EXPECT_DOUBLE_EQ(log.LastSeen(4), -1);
  log.Absorb({.setting = 4, .time = 40, .seconds = 10, .updates = 50});
  EXPECT_EQ(log.blocks().size(), 2U);
}

TEST(BlockLogTest, NeverHoldsMoreThanItsBoundAndLosesNoSetting) {
  BlockLog log(1);
  double time = 0;
  for (int i = 0; i < 5000; ++i) {
    time += 1;
    log.Absorb({.setting = i % 200 < 190 ? 7 : (i / 200) % 20, .time = time, .seconds = 1, .updates = 100});
    ASSERT_LE(log.blocks().size(), BlockLog::kBlocksMax);
  }
  for (int setting = 0; setting < 20; ++setting) EXPECT_GT(log.WindowsAt(setting), 0) << setting;
  EXPECT_DOUBLE_EQ(log.blocks().back().end, time) << "the newest is never merged away";
}

TEST(BlockLogTest, NoiseFollowsTheWindows) {
  Random random(4);
  BlockLog quiet(1), loud(1), heavy(1);
  for (int i = 1; i <= 60; ++i) {
    const double n = random.Normal();
    quiet.Absorb({.setting = 0, .time = 1.0 * i, .seconds = 1, .updates = 100 * std::exp(0.01 * n)});
    loud.Absorb({.setting = 0, .time = 1.0 * i, .seconds = 1, .updates = 100 * std::exp(0.2 * n)});
    heavy.Absorb({.setting = 0, .time = 1.0 * i, .seconds = 1, .updates = i % 8 == 0 ? 40 : 100 * std::exp(0.03 * n)});
  }
  EXPECT_LT(quiet.noise_scale(), 0.6);
  EXPECT_GT(loud.noise_scale(), 2.5);
  EXPECT_LT(heavy.noise_scale(), 1.6) << "a few bad windows are no noise of all windows";
  EXPECT_GT(heavy.tail_share(), 0.05);
  EXPECT_LT(loud.tail_share(), 0.03);
  EXPECT_GT(loud.Variance(100, 1), quiet.Variance(100, 1));
  EXPECT_GT(quiet.Variance(100, 1), quiet.Variance(1000, 10));
}

}  // namespace
}  // namespace attune::tuner::block_log_test
