#include "ps/transport/loop/spin_judge.h"

#include <gtest/gtest.h>

namespace attune::ps::spin_judge_test {
namespace {

TEST(SpinJudgeTest, OneCoreNeverSpins) {
  SpinJudge judge(1);
  for (int i = 0; i < 2 * SpinJudge::kProbeEvery; ++i) EXPECT_FALSE(judge.ShouldSpin());
}

TEST(SpinJudgeTest, WhatDoesNotPayIsTriedNowAndThen) {
  SpinJudge judge(2);
  int spins = 0;
  while (judge.ShouldSpin()) {
    judge.Ended(false);
    ASSERT_LE(++spins, 10) << "it is given up soon";
  }
  int tried = 0;
  for (int i = 0; i < 4 * SpinJudge::kProbeEvery; ++i) tried += judge.ShouldSpin() ? 1 : 0;
  EXPECT_EQ(tried, 4);
  judge.Ended(true);
  EXPECT_TRUE(judge.ShouldSpin()) << "it has paid";
}

TEST(SpinJudgeTest, LongSuccessIsForgottenInBoundedTime) {
  SpinJudge judge(2);
  for (int i = 0; i < 1000; ++i) judge.Ended(true);
  int spins = 0;
  while (judge.ShouldSpin()) {
    judge.Ended(false);
    ++spins;
  }
  EXPECT_LE(spins, SpinJudge::kScoreMax);
}

}  // namespace
}  // namespace attune::ps::spin_judge_test
