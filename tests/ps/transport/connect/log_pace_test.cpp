// How often something is logged.
#include "ps/transport/tcp/connect/log_pace.h"

#include <gtest/gtest.h>

namespace attune::ps::log_pace_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LogPaceTest, OnceInAWhileWithTheNumberThatWasPassedOver) {
  constexpr MonotonicTime kStart{seconds(100)};
  LogPace pace{seconds(1)};
  EXPECT_EQ(pace.Next(kStart), 0U);
  EXPECT_EQ(pace.Next(kStart), std::nullopt);
  EXPECT_EQ(pace.Next(kStart + milliseconds(999)), std::nullopt);
  EXPECT_EQ(pace.Next(kStart + seconds(1)), 2U);
  EXPECT_EQ(pace.Next(kStart + seconds(5)), 0U);
}

}  // namespace
}  // namespace attune::ps::log_pace_test
