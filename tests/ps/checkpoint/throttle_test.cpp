#include "ps/checkpoint/throttle.h"

#include <gtest/gtest.h>

#include <thread>

namespace attune::ps::throttle_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RateLimitTest, KeepsTheRateAndAllowsAShortBurst) {
  ManualTime time;
  RateLimit limit(1000);
  EXPECT_EQ(limit.Take(100, time.Now()), milliseconds(100));
  EXPECT_EQ(limit.Take(100, time.Now()), milliseconds(200)) << "waits add up";
  time.Advance(seconds(10));
  EXPECT_EQ(limit.Take(250, time.Now()), milliseconds(0)) << "a quarter of a second was saved up";
  EXPECT_EQ(limit.Take(100, time.Now()), milliseconds(100)) << "not ten seconds";
}

TEST(RateLimitTest, TheRateHoldsOverManySmallWrites) {
  ManualTime time;
  RateLimit limit(1'000'000);
  const MonotonicTime start = time.Now();
  for (int i = 0; i < 1000; ++i) time.Advance(limit.Take(5000, time.Now()));
  EXPECT_NEAR(Seconds(time.Now() - start), 5.0, 0.01);
}

TEST(RateLimitTest, ZeroIsNoLimit) { EXPECT_EQ(RateLimit(0).Take(1ULL << 40, MonotonicTime{}), Duration::zero()); }

TEST(ThrottleTest, CancelEndsAWaitAtOnce) {
  const SystemTime time;
  Throttle throttle(1, time);  // a byte per second: the wait below would be of a day
  std::thread canceler([&] { throttle.Cancel(); });
  EXPECT_EQ(throttle.Take(86'400).code(), StatusCode::kCancelled);
  canceler.join();
  EXPECT_EQ(throttle.Take(1).code(), StatusCode::kCancelled);
  EXPECT_EQ(throttle.bytes(), 0U);
}

}  // namespace
}  // namespace attune::ps::throttle_test
