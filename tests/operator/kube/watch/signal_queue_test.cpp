// How signals of a watch come to the thread that handles them.
#include "operator/kube/watch/signal_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace attune::kube::signal_queue_test {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;

WatchSignal Modified(int number) { return {WatchSignal::Kind::kModified, Json(number), OkStatus()}; }

TEST(SignalQueueTest, SignalsAreTakenInOrderAndOnce) {
  SignalQueue queue("pods");
  queue.Put(Modified(1));
  queue.Put(Modified(2));
  const std::deque<WatchSignal> taken = queue.TakeAll(minutes(1));
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].object, Json(1));
  EXPECT_EQ(taken[1].object, Json(2));
  EXPECT_TRUE(queue.TakeAll(Duration::zero()).empty());
}

TEST(SignalQueueTest, ASignalEndsAWait) {
  SignalQueue queue("pods");
  std::deque<WatchSignal> taken;
  std::thread waits([&] { taken = queue.TakeAll(minutes(1)); });
  queue.Put(Modified(1));
  waits.join();
  EXPECT_EQ(taken.size(), 1U);
}

TEST(SignalQueueTest, StoppingEndsThisWaitAndLaterOnes) {
  SignalQueue queue("pods");
  EXPECT_FALSE(queue.stopping());
  std::thread waits([&] { (void)queue.TakeAll(minutes(1)); });
  queue.Stop();
  waits.join();
  EXPECT_TRUE(queue.stopping());
  EXPECT_TRUE(queue.TakeAll(minutes(1)).empty());
}

TEST(SignalQueueTest, AFloodEndsInOneSignalThatTheWatchIsBroken) {
  SignalQueue queue("pods");
  for (size_t i = 0; i < 2 * SignalQueue::kSignalsMax; ++i) queue.Put(Modified(1));
  const std::deque<WatchSignal> taken = queue.TakeAll(Duration::zero());
  ASSERT_EQ(taken.size(), SignalQueue::kSignalsMax + 1);
  EXPECT_EQ(taken.back().kind, WatchSignal::Kind::kBroken);
  EXPECT_EQ(taken.back().status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(taken.back().status.message()), HasSubstr("watching pods"));
}

TEST(SignalQueueTest, AfterAFloodSignalsAreTakenOnlyOnceTheQueueIsCleared) {
  SignalQueue queue("pods");
  for (size_t i = 0; i <= SignalQueue::kSignalsMax; ++i) queue.Put(Modified(1));
  (void)queue.TakeAll(Duration::zero());
  queue.Put(Modified(2));
  EXPECT_TRUE(queue.TakeAll(Duration::zero()).empty()) << "of a watch that is over";
  queue.Clear();
  queue.Put(Modified(3));
  EXPECT_EQ(queue.TakeAll(Duration::zero()).size(), 1U);
}

}  // namespace
}  // namespace attune::kube::signal_queue_test
