#include "ps/core/link/heartbeats.h"

#include <gtest/gtest.h>

namespace attune::ps::heartbeats_test {
namespace {

using std::chrono::seconds;

TEST(Heartbeats, TheNextOneIsDueAfterTheInterval) {
  const MonotonicTime now{seconds(100)};
  Heartbeats heartbeats(seconds(2));
  EXPECT_EQ(heartbeats.next(), kNever);
  EXPECT_FALSE(heartbeats.Due(now));
  EXPECT_EQ(heartbeats.Schedule(now), now + seconds(2));
  EXPECT_FALSE(heartbeats.Due(now + seconds(1)));
  EXPECT_TRUE(heartbeats.Due(now + seconds(2)));
}

TEST(Heartbeats, TheNextOneCanBeHastenedAndIsNeverPutOff) {
  const MonotonicTime now{seconds(100)};
  Heartbeats heartbeats(seconds(5));
  heartbeats.Schedule(now);
  heartbeats.Hasten(now);
  EXPECT_EQ(heartbeats.next(), now + seconds(1));
  heartbeats.Hasten(now + seconds(3));
  EXPECT_EQ(heartbeats.next(), now + seconds(1));
}

TEST(Heartbeats, ALeaseCountsFromWhenItsHeartbeatWasSent) {
  const MonotonicTime now{seconds(100)};
  Heartbeats heartbeats(seconds(2));
  EXPECT_EQ(heartbeats.number(), 0U);
  EXPECT_EQ(heartbeats.TakeNumber(), 1U);
  EXPECT_EQ(heartbeats.number(), 1U);
  heartbeats.Sent(now);
  EXPECT_EQ(heartbeats.TakeNumber(), 2U);
  heartbeats.Sent(now + seconds(2));
  heartbeats.Answered(1, seconds(10));
  EXPECT_TRUE(heartbeats.lease().Valid(now + seconds(8)));
  EXPECT_FALSE(heartbeats.lease().Valid(now + seconds(10)));
  EXPECT_EQ(heartbeats.Silence(now + seconds(8)), Duration::zero());
  EXPECT_EQ(heartbeats.Silence(now + seconds(12)), now + seconds(12) - heartbeats.lease().ends());
}

TEST(Heartbeats, AProcessThatWasStoppedIsLateByThatTimeLessWhatIsUsual) {
  const MonotonicTime now{seconds(100)};
  Heartbeats heartbeats(seconds(2));
  EXPECT_EQ(heartbeats.PausedUntil(now), Duration::zero());
  heartbeats.Schedule(now);
  EXPECT_EQ(heartbeats.PausedUntil(now + seconds(4)), Duration::zero()) << "a loaded machine";
  EXPECT_EQ(heartbeats.PausedUntil(now + seconds(64)), seconds(60));
}

}  // namespace
}  // namespace attune::ps::heartbeats_test
