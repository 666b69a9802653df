#include "ps/transport/loop/timer_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace attune::ps::timer_queue_test {
namespace {

constexpr MonotonicTime At(int second) { return MonotonicTime(std::chrono::seconds(second)); }

TEST(TimerQueueTest, TheEarliestFiresFirstAndOnce) {
  TimerQueue queue;
  std::vector<int> fired;
  const auto later = queue.New(), sooner = queue.New();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(), kNever);
  later->SetAt(At(20), [&] { fired.push_back(20); });
  sooner->SetAt(At(10), [&] { fired.push_back(10); });
  EXPECT_EQ(queue.next(), At(10));
  queue.FireNext();
  EXPECT_EQ(queue.next(), At(20));
  queue.FireNext();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(fired, (std::vector<int>{10, 20}));
}

TEST(TimerQueueTest, ATimerIsMovedCanceledAndDestroyed) {
  TimerQueue queue;
  auto timer = queue.New();
  timer->SetAt(At(10), [] { FAIL() << "it was moved"; });
  timer->SetAt(At(5), [] { FAIL() << "it was canceled"; });
  EXPECT_EQ(queue.next(), At(5));
  timer->Cancel();
  timer->Cancel();
  EXPECT_TRUE(queue.empty());
  timer->SetAt(At(7), [] { FAIL() << "it is gone"; });
  timer.reset();
  EXPECT_TRUE(queue.empty());
}

TEST(TimerQueueTest, WhatFiresMaySetItselfAgainOrEndItself) {
  TimerQueue queue;
  auto timer = queue.New();
  int fired = 0;
  timer->SetAt(At(1), [&] {
    ++fired;
    timer->SetAt(At(2), [&] {
      ++fired;
      timer.reset();
    });
  });
  queue.FireNext();
  EXPECT_EQ(queue.next(), At(2));
  queue.FireNext();
  EXPECT_EQ(fired, 2);
  EXPECT_EQ(timer, nullptr);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace attune::ps::timer_queue_test
