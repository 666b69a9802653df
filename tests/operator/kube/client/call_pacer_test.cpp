#include "operator/kube/client/call_pacer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "operator/kube/client/api_error.h"

namespace attune::kube::call_pacer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CallPacer, ACallWhoseTurnIsAfterItsDeadlineFailsAtOnceAndSaysWhy) {
  ManualTime time;  // does not move: a call that waited would wait for ever
  CallPacer pacer({.per_second = 0.5, .burst = 1}, time);
  ASSERT_TRUE(pacer.Wait(time.Now() + seconds(1)).ok());
  const Status late = pacer.Wait(time.Now() + seconds(1)).status();
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
  EXPECT_THAT(ToString(late), AllOf(HasSubstr("not sent: 0 other calls wait"), HasSubstr("0.5 a second")));
  EXPECT_EQ(RetryAfter(late), seconds(2));
  time.Advance(seconds(2));
  EXPECT_TRUE(pacer.Wait(time.Now()).ok()) << "who left is not in the way";
}

TEST(CallPacer, WhileTheServerIsBusyCallsFailWithTheTimeThatItAskedFor) {
  ManualTime time;
  CallPacer pacer({}, time);
  pacer.CloseFor(seconds(30));
  const Status late = pacer.Wait(time.Now() + seconds(15)).status();
  EXPECT_THAT(ToString(late), HasSubstr("(429) to send nothing for another 30 s"));
  EXPECT_EQ(RetryAfter(late), seconds(30));
  time.Advance(seconds(30));
  EXPECT_TRUE(pacer.Wait(time.Now()).ok());
}

TEST(CallPacer, ThreadsAreHeldToTheRate) {
  const SystemTime time;
  CallPacer pacer({.per_second = 100, .burst = 1}, time);
  const MonotonicTime begin = time.Now();
  std::vector<std::thread> calls;
  std::atomic<int> sent = 0;
  for (int i = 0; i < 11; ++i) {
    calls.emplace_back([&] { sent += pacer.Wait(begin + seconds(60)).ok() ? 1 : 0; });
  }
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(sent, 11);
  EXPECT_GE(time.Now() - begin, milliseconds(99));
}

}  // namespace
}  // namespace attune::kube::call_pacer_test
