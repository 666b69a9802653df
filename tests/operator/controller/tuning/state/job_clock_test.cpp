#include "operator/controller/tuning/state/job_clock.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::controller::job_clock_test {
namespace {

TEST(JobClockTest, TheWallClockIsReadOnce) {
  JobClock clock;
  EXPECT_DOUBLE_EQ(clock.Advance(1000, 40), 40);
  EXPECT_DOUBLE_EQ(clock.Advance(1005, 9000), 45) << "the wall clock jumped";
  EXPECT_DOUBLE_EQ(clock.now(), 45);
}

TEST(JobClockTest, ItNeverGoesBack) {
  JobClock clock;
  clock.Advance(1000, 40);
  EXPECT_DOUBLE_EQ(clock.Advance(990, 40), 40);
}

TEST(JobClockTest, AnotherOperatorContinuesWhereTheLastOneWasOrLater) {
  JobClock behind(100), ahead(100);
  EXPECT_DOUBLE_EQ(behind.Advance(7, 130), 130);
  EXPECT_DOUBLE_EQ(ahead.Advance(7, 60), 100) << "its wall clock is late";
}

TEST(JobClockTest, AnAgeThatIsNoNumberIsNone) {
  JobClock clock;
  EXPECT_DOUBLE_EQ(clock.Advance(7, std::nan("")), 0);
}

}  // namespace
}  // namespace attune::controller::job_clock_test
