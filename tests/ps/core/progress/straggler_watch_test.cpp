#include "ps/core/progress/straggler_watch.h"

#include <gtest/gtest.h>

#include <chrono>

namespace attune::ps::straggler_watch_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kAnna{1}, kBert{2};
constexpr Duration kAfter = seconds(5);

TEST(StragglerWatch, AStepThatTakesLongIsReportedOnce) {
  StragglerWatch watch;
  MonotonicTime now{};
  EXPECT_FALSE(watch.Update(true, 7, kAnna, now, kAfter));
  EXPECT_FALSE(watch.Update(true, 7, kAnna, now + seconds(4), kAfter));
  EXPECT_TRUE(watch.Update(true, 7, kAnna, now + seconds(5), kAfter));
  EXPECT_FALSE(watch.Update(true, 7, kAnna, now + seconds(9), kAfter));
  EXPECT_EQ(watch.slowest(), kAnna);
  EXPECT_EQ(watch.since(), now);
}

TEST(StragglerWatch, AnotherStepOrAnotherWorkerOrNoWaitingBeginsAgain) {
  for (const int change : {0, 1, 2}) {
    StragglerWatch watch;
    MonotonicTime now{};
    watch.Update(true, 7, kAnna, now, kAfter);
    now += seconds(5);
    EXPECT_FALSE(watch.Update(change != 0, change == 1 ? 8 : 7, change == 2 ? kBert : kAnna, now, kAfter)) << change;
    EXPECT_EQ(watch.since(), now) << change;
  }
}

TEST(StragglerWatch, TimeInWhichThisProcessStoodStillDoesNotCount) {
  StragglerWatch watch;
  MonotonicTime now{};
  watch.Update(true, 7, kAnna, now, kAfter);
  watch.SkipPause(seconds(60));
  now += seconds(64);
  EXPECT_FALSE(watch.Update(true, 7, kAnna, now, kAfter));
  EXPECT_TRUE(watch.Update(true, 7, kAnna, now + seconds(1), kAfter));
}

}  // namespace
}  // namespace attune::ps::straggler_watch_test
