#include "operator/policy/windows.h"

#include <gtest/gtest.h>

namespace attune::policy::windows_test {
namespace {

using std::chrono_literals::operator""s, std::chrono_literals::operator""h;

const WallTime kNoon = WallTime() + 1'784'116'800s;  // Wednesday, 2026-07-15 12:00 UTC

TEST(Windows, WhichHoldAndUntilWhen) {
  api::Policy policy;
  policy.name = "night";
  policy.spec.windows = {{"Mon-Fri 08:00-20:00 UTC", api::TuningMode::kRecommend},
                         {"* 22:00-06:00 UTC", api::TuningMode::kInPlaceOnly},
                         {"* 00:00-24:00 UTC", api::TuningMode::kAuto}};
  const std::vector<WindowNow> windows = WindowsOf(policy, kNoon);
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[0].policy, "ClusterTuningPolicy night");
  EXPECT_EQ(windows[0].mode, api::TuningMode::kRecommend);
  EXPECT_TRUE(windows[0].holds);
  EXPECT_EQ(windows[0].changes_at, kNoon + 8h);
  EXPECT_EQ(windows[0].always_because, "");
  EXPECT_FALSE(windows[1].holds);
  EXPECT_EQ(windows[1].changes_at, kNoon + 10h);
  EXPECT_TRUE(windows[2].holds);
  EXPECT_FALSE(windows[2].changes_at);
}

TEST(Windows, WhatCannotBeReadHoldsAlwaysAndSaysWhy) {
  api::Policy policy;
  policy.spec.windows = {{"working hours", api::TuningMode::kOff}, {"Mon 08:00-09:00 Europe/Nowhere", {}}};
  const std::vector<WindowNow> windows = WindowsOf(policy, kNoon);
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_TRUE(windows[0].holds);
  EXPECT_TRUE(windows[0].always_because.starts_with("its schedule cannot be read; allowed: days"));
  EXPECT_TRUE(windows[1].holds);
  EXPECT_EQ(windows[1].always_because, "time zone Europe/Nowhere is not known here");
}

}  // namespace
}  // namespace attune::policy::windows_test
