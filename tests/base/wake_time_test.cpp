#include "base/wake_time.h"

#include <gtest/gtest.h>

namespace attune::wake_time_test {
namespace {

using std::chrono::seconds;

TEST(WakeTimeTest, TheEarliestCountsUntilItIsReached) {
  WakeTime wake;
  EXPECT_EQ(wake.at(), kNever);
  wake.By(MonotonicTime(seconds(5)));
  wake.By(MonotonicTime(seconds(3)));
  wake.By(kNever);
  EXPECT_EQ(wake.at(), MonotonicTime(seconds(3)));
  wake.Reset();
  EXPECT_EQ(wake.at(), kNever);
  wake.Reset(MonotonicTime(seconds(9)));
  wake.By(MonotonicTime(seconds(10)));
  EXPECT_EQ(wake.at(), MonotonicTime(seconds(9)));
}

}  // namespace
}  // namespace attune::wake_time_test
