#include "operator/controller/tuning/state/setting_stay.h"

#include <gtest/gtest.h>

namespace attune::controller::setting_stay_test {
namespace {

constexpr double kWindow = 5;

// A stay of ten seconds that begins at the hundredth.
SettingStay Begun() {
  SettingStay stay;
  stay.Plan(10);
  stay.Begin(100);
  return stay;
}

TEST(SettingStayTest, APlannedStayBeginsAfterAWarmUp) {
  const SettingStay stay = Begun();
  EXPECT_FALSE(stay.IsWarm(101));
  EXPECT_TRUE(stay.IsWarm(100 + SettingStay::kWarmUpSeconds));
  EXPECT_FALSE(stay.IsOver(111));
  EXPECT_TRUE(stay.IsOver(110 + SettingStay::kWarmUpSeconds));
  EXPECT_DOUBLE_EQ(stay.Left(101.5), 10);
}

TEST(SettingStayTest, ALookThatIsABitEarlyEndsIt) { EXPECT_TRUE(Begun().IsOver(111.49)); }

TEST(SettingStayTest, AnotherSettingHasToBeMeasuredAgain) {
  SettingStay stay = Begun();
  EXPECT_FALSE(stay.is_measured());
  stay.Measured();
  stay.Extend(112, 20);
  EXPECT_TRUE(stay.is_measured()) << "it is the same setting";
  EXPECT_DOUBLE_EQ(stay.until(), 132);
  EXPECT_DOUBLE_EQ(stay.seconds(), 10) << "as planned";
  stay.Begin(140);
  EXPECT_FALSE(stay.is_measured());
}

TEST(SettingStayTest, WhatIsLateForAMomentSpoilsNothing) {
  SettingStay stay = Begun();
  EXPECT_FALSE(stay.Interrupt(105, false, kWindow));
  EXPECT_FALSE(stay.Interrupt(107, false, kWindow));
  stay.Resume();
  EXPECT_FALSE(stay.Interrupt(109, false, kWindow)) << "late for another moment";
  EXPECT_DOUBLE_EQ(stay.until(), 111.5);
}

TEST(SettingStayTest, APodThatIsMissingMakesItLonger) {
  SettingStay stay = Begun();
  EXPECT_FALSE(stay.Interrupt(105, false, kWindow));
  EXPECT_TRUE(stay.Interrupt(105 + SettingStay::kLateSeconds, false, kWindow));
  EXPECT_DOUBLE_EQ(stay.until(), 113) << "a window from now";
  EXPECT_TRUE(Begun().Interrupt(101, true, kWindow)) << "a failure counts at once";
}

TEST(SettingStayTest, AnotherOperatorStaysAsLong) {
  SettingStay stay;
  stay.Load(111.5, 10);
  EXPECT_TRUE(stay.IsWarm(101.5));
  EXPECT_DOUBLE_EQ(stay.Left(110), 1.5);
  EXPECT_FALSE(stay.is_measured());
}

}  // namespace
}  // namespace attune::controller::setting_stay_test
