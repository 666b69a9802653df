#include "operator/tuner/belief/setting_belief.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::setting_belief_test {
namespace {

struct Measured : MeasuredJob {
  Measured() {
    Measure({1, 1}, 10, 5);
    Measure({2, 4}, 30, 5);
  }
};

TEST(SettingBeliefTest, ABeliefIsAgainstTheIncumbent) {
  Measured job;
  const View view = job.LookFrom({1, 1});
  const SettingBelief best = BeliefOf(job.evidence, view, job.Id({2, 4}));
  EXPECT_DOUBLE_EQ(best.relative_time, 1);
  EXPECT_DOUBLE_EQ(best.relative_cost, 1);
  EXPECT_NEAR(best.seconds_per_update, 1 / 30.0, 0.003);
  const SettingBelief slow = BeliefOf(job.evidence, view, job.Id({1, 1}));
  EXPECT_NEAR(slow.relative_time, 3, 0.3);
  EXPECT_NEAR(slow.relative_cost, slow.relative_time * 2 / 6, 1e-9) << "by the price of pods";
  EXPECT_LT(slow.gain.mean, 0);
}

TEST(SettingBeliefTest, TheBestComeFirst) {
  Measured job;
  const View view = job.LookFrom({1, 1});
  const auto beliefs = BestBeliefs(job.evidence, view, 5);
  ASSERT_EQ(beliefs.size(), 5u);
  for (size_t i = 1; i < beliefs.size(); ++i) EXPECT_GE(beliefs[i - 1].gain.mean, beliefs[i].gain.mean);
}

TEST(SettingBeliefTest, TradeoffsRiseInTimeAndFallInCost) {
  Measured job;
  job.Crash({1, 2});
  const View view = job.LookFrom({1, 1});
  EXPECT_TRUE(Tradeoffs(job.evidence, view, 0).empty());
  const auto all = Tradeoffs(job.evidence, view, 100);
  ASSERT_GT(all.size(), 1u);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(all[i].relative_time, all[i - 1].relative_time);
    EXPECT_LT(all[i].relative_cost, all[i - 1].relative_cost);
    EXPECT_NE(all[i].setting, (Setting{1, 2})) << "it crashed";
  }
  const auto some = Tradeoffs(job.evidence, view, 2);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some.front().setting, all.front().setting);
  EXPECT_EQ(some.back().setting, all.back().setting);
}

}  // namespace
}  // namespace attune::tuner::setting_belief_test
