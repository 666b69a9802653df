#include "operator/telemetry/blocking_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace attune::telemetry::blocking_calls_test {
namespace {

// One thread, which is held by the first call until `release` is set.
class BlockingCallsTest : public testing::Test {
 protected:
  void Hold(BlockingCalls& calls) {
    ASSERT_TRUE(calls.Post("holder", [this] {
      held_.set_value();
      release_.get_future().wait();
    }));
    held_.get_future().wait();
  }
  void Release() { release_.set_value(); }

  std::atomic<int> done_ = 0;

 private:
  std::promise<void> held_, release_;
};

TEST_F(BlockingCallsTest, EndsOnlyAfterAllThatWaitsWasCarriedOut) {
  {
    BlockingCalls calls(1);
    Hold(calls);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(calls.Post("a", [this] { ++done_; }));
    EXPECT_EQ(done_, 0);
    Release();
  }
  EXPECT_EQ(done_, 10);
}

TEST_F(BlockingCallsTest, ASourceThatSendsTooManyLeavesRoomForOthers) {
  BlockingCalls calls(1, {.waiting_max = 100, .waiting_per_source_max = 2});
  Hold(calls);
  EXPECT_TRUE(calls.Post("greedy", [this] { ++done_; }));
  EXPECT_TRUE(calls.Post("greedy", [this] { ++done_; }));
  EXPECT_FALSE(calls.Post("greedy", [this] { ++done_; }));
  EXPECT_TRUE(calls.Post("other", [this] { ++done_; }));
  Release();
}

TEST_F(BlockingCallsTest, NoMoreWaitThanTheBoundOfAllSources) {
  BlockingCalls calls(1, {.waiting_max = 3, .waiting_per_source_max = 2});
  Hold(calls);
  EXPECT_TRUE(calls.Post("a", [this] { ++done_; }));
  EXPECT_TRUE(calls.Post("b", [this] { ++done_; }));
  EXPECT_TRUE(calls.Post("c", [this] { ++done_; }));
  EXPECT_FALSE(calls.Post("d", [this] { ++done_; }));
  Release();
}

}  // namespace
}  // namespace attune::telemetry::blocking_calls_test
