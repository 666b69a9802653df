// What is shown of a reflector's thread.
#include "operator/kube/watch/watch_health.h"

#include <gtest/gtest.h>

namespace attune::kube::watch_health_test {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kNow{seconds(100)};

TEST(WatchHealthTest, EveryStepOfTheLoopIsCounted) {
  WatchHealth health;
  EXPECT_EQ(health.turn().number, 0U);
  health.BeginWait({}, kNow + seconds(5));
  EXPECT_EQ(health.turn().number, 1U);
  EXPECT_EQ(health.turn().waits_until, kNow + seconds(5));
  health.EndWait();
  EXPECT_EQ(health.turn().number, 2U);
  EXPECT_LT(health.turn().waits_until, kNow) << "it works";
}

TEST(WatchHealthTest, CountsAreThoseOfTheLastWait) {
  WatchHealth health;
  health.BeginWait({.lists = 2}, kNow);
  health.EndWait();
  EXPECT_EQ(health.counts().lists, 2U);
  health.BeginWait({.lists = 3}, kNow);
  EXPECT_EQ(health.counts().lists, 3U);
}

TEST(WatchHealthTest, AFailureIsNewsOnceUntilSomethingElseHappens) {
  const Status away = Error(StatusCode::kUnavailable, "refused");
  WatchHealth health;
  EXPECT_FALSE(health.Note(OkStatus()));
  EXPECT_TRUE(health.Note(away));
  EXPECT_FALSE(health.Note(away));
  EXPECT_EQ(health.last_failure(), away);
  EXPECT_TRUE(health.Note(Error(StatusCode::kUnavailable, "reset")));
  EXPECT_FALSE(health.Note(OkStatus()));
  EXPECT_TRUE(health.last_failure().ok());
  EXPECT_TRUE(health.Note(away)) << "again, after something was heard";
}

}  // namespace
}  // namespace attune::kube::watch_health_test
