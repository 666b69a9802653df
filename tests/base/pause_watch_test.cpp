// When a process must take a gap for its own pause.
#include "base/pause_watch.h"

#include <gtest/gtest.h>

#include <utility>

namespace attune::pause_watch_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTolerance = seconds(1);
constexpr MonotonicTime kWanted{seconds(100)};

TEST(PauseWatch, AStepInTimeIsNoPause) {
  EXPECT_EQ(PausedFor(kWanted, kWanted - seconds(5), kTolerance), Duration::zero()) << "something else woke it";
  EXPECT_EQ(PausedFor(kWanted, kWanted, kTolerance), Duration::zero());
  EXPECT_EQ(PausedFor(kWanted, kWanted + kTolerance, kTolerance), Duration::zero()) << "a loaded machine";
}

TEST(PauseWatch, ALateStepTellsForHowLongItStoodStillBeyondWhatIsUsual) {
  EXPECT_EQ(PausedFor(kWanted, kWanted + milliseconds(1001), kTolerance), milliseconds(1));
  EXPECT_EQ(PausedFor(kWanted, kWanted + std::chrono::minutes(10), kTolerance), std::chrono::minutes(10) - kTolerance);
}

TEST(PauseWatch, IfEveryStepIsLateTheSilenceOfOthersStillGrows) {
  MonotonicTime heard = kWanted, now = kWanted;
  for (int step = 0; step < 20; ++step) {
    const MonotonicTime wanted = std::exchange(now, now + milliseconds(1060));
    heard = MovedBy(PausedFor(wanted, now, kTolerance), heard);
  }
  EXPECT_EQ(now - heard, 20 * kTolerance);
}

TEST(PauseWatch, WhoWaitsForNothingIsNeverLate) { EXPECT_EQ(PausedFor(kNever, kWanted, kTolerance), Duration::zero()); }

TEST(PauseWatch, WhatNeverHappensStaysThatWay) {
  EXPECT_EQ(MovedBy(seconds(3), kWanted), kWanted + seconds(3));
  EXPECT_EQ(MovedBy(seconds(3), kNever), kNever);
  EXPECT_EQ(MovedBy(seconds(3), kNever - seconds(1)), kNever);
}

}  // namespace
}  // namespace attune::pause_watch_test
