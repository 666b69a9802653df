#include "ps/core/coordinator/state/check_times.h"

#include <gtest/gtest.h>

#include <chrono>

namespace attune::ps::check_times_test {
namespace {

using std::chrono::seconds;
constexpr Duration kCheck = seconds(1), kAgain = seconds(2);
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + seconds(time); }

TEST(CheckTimes, ChecksFollowTheFirstStep) {
  CheckTimes times;
  EXPECT_EQ(times.next_check(), kNever);
  EXPECT_TRUE(times.Step(At(10), kCheck, kAgain));
  EXPECT_EQ(times.next_check(), At(11));
  EXPECT_FALSE(times.CheckIsDue());
  EXPECT_FALSE(times.Step(At(11), kCheck, kAgain));
  EXPECT_TRUE(times.CheckIsDue());
  times.Checked(kCheck);
  EXPECT_EQ(times.next_check(), At(12));
}

TEST(CheckTimes, AClockThatGoesBackStandsStill) {
  CheckTimes times;
  times.Step(At(10), kCheck, kAgain);
  times.Step(At(5), kCheck, kAgain);
  EXPECT_EQ(times.now(), At(10));
}

TEST(CheckTimes, WhatMayBeLostIsSentAgainNowAndThen) {
  CheckTimes times;
  times.Step(At(10), kCheck, kAgain);
  EXPECT_FALSE(times.TakeAgain(kAgain));
  times.Step(At(12), kCheck, kAgain);
  EXPECT_TRUE(times.TakeAgain(kAgain));
  EXPECT_FALSE(times.TakeAgain(kAgain));
  times.Step(At(14), kCheck, kAgain);
  EXPECT_TRUE(times.TakeAgain(kAgain));
}

TEST(CheckTimes, AStepThatComesLateFollowsAPause) {
  CheckTimes times;
  times.Step(At(10), kCheck, kAgain);
  EXPECT_EQ(times.Paused(seconds(1)), Duration::zero());
  times.Step(At(12), kCheck, kAgain);
  EXPECT_EQ(times.Paused(seconds(1)), Duration::zero()) << "a loaded machine may take as long";
  times.Step(At(72), kCheck, kAgain);
  EXPECT_EQ(times.Paused(seconds(1)), seconds(60));
}

}  // namespace
}  // namespace attune::ps::check_times_test
