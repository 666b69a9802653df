// The annotated mutex excludes, its locks hold for their scope, and its condition variable gives it back held. What the
// annotations themselves find is no matter of a running program: scripts/lint has clang check them.
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace attune::mutex_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Asked by another thread, because a mutex may not be tried by the one that holds it.
bool IsFree(Mutex& mutex) {
  bool is_free = false;
  std::thread([&] {
    if (!mutex.try_lock()) return;
    is_free = true;
    mutex.unlock();
  }).join();
  return is_free;
}

TEST(Mutex, OneThreadAtATimeChangesWhatItGuards) {
  constexpr int kThreads = 4, kTimes = 20'000;
  struct {
    Mutex mutex;
    int count ABSL_GUARDED_BY(mutex) = 0;
  } shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kTimes; ++n) {
        const MutexLock lock(shared.mutex);
        ++shared.count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(shared.mutex);
  EXPECT_EQ(shared.count, kThreads * kTimes);
}

TEST(Mutex, LocksOfTheStandardLibraryTakeItToo) {
  Mutex one, other;
  {
    const std::scoped_lock lock(one, other);
    EXPECT_FALSE(IsFree(one));
    EXPECT_FALSE(IsFree(other));
  }
  EXPECT_TRUE(IsFree(one));
  EXPECT_TRUE(IsFree(other));
}

TEST(MutexLock, HoldsForItsScope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

TEST(MutexLock, TakesOverWhatATryHasLocked) {
  Mutex mutex;
  if (!mutex.try_lock()) FAIL() << "no other thread holds it";
  {
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

TEST(ReleasableMutexLock, LetsGoAndTakesAgain) {
  Mutex mutex;
  {
    ReleasableMutexLock lock(mutex);
    EXPECT_FALSE(IsFree(mutex));
    lock.Release();
    EXPECT_TRUE(IsFree(mutex));
    lock.Acquire();
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

// Locked by another owner before the scope of a lock that has released it ends.
void ReleaseForAnotherOwner(Mutex& mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  ReleasableMutexLock lock(mutex);
  lock.Release();
  mutex.lock();
}

TEST(ReleasableMutexLock, DoesNotUnlockTwiceWhatItHasReleased) {
  Mutex mutex;
  ReleaseForAnotherOwner(mutex);
  EXPECT_FALSE(IsFree(mutex)) << "the end of the scope has unlocked what it did not hold";
}

// Two threads that hand a turn to each other: neither comes to its end unless every wait releases the mutex and every
// notification wakes.
TEST(CondVar, WaitersSeeWhatNotifiersHaveChanged) {
  constexpr int kTurns = 1000;
  Mutex mutex;
  CondVar changed;
  int turn = 0;
  std::thread other([&] {
    const MutexLock lock(mutex);
    while (turn < kTurns) {
      while (turn % 2 == 0) changed.Wait(mutex);
      ++turn;
      changed.NotifyOne();
    }
  });
  {
    const MutexLock lock(mutex);
    while (turn < kTurns) {
      ++turn;
      changed.NotifyOne();
      changed.Wait(mutex, [&] { return turn % 2 == 0; });
    }
  }
  other.join();
  EXPECT_EQ(turn, kTurns);
}

TEST(CondVar, NotifyAllWakesEveryWaiter) {
  constexpr int kWaiters = 4;
  Mutex mutex;
  CondVar changed;
  bool open = false;
  int waiting = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.emplace_back([&] {
      const MutexLock lock(mutex);
      ++waiting;
      changed.NotifyAll();
      while (!open) changed.Wait(mutex);
    });
  }
  {
    const MutexLock lock(mutex);
    while (waiting < kWaiters) changed.Wait(mutex);
    open = true;
    changed.NotifyAll();
  }
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(CondVar, AWaitEndsAtItsDeadlineWithTheMutexHeld) {
  Mutex mutex;
  CondVar changed;
  const auto never = [] { return false; };
  {
    const MutexLock lock(mutex);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(changed.WaitFor(mutex, milliseconds(2), never));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(2));
    EXPECT_FALSE(changed.WaitUntil(mutex, begin, never)) << "a deadline that has passed";
    changed.WaitFor(mutex, milliseconds(1));
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

TEST(CondVar, WhatHoldsAlreadyIsNotWaitedFor) {
  Mutex mutex;
  CondVar changed;
  const auto holds = [] { return true; };
  const MutexLock lock(mutex);
  changed.Wait(mutex, holds);
  EXPECT_TRUE(changed.WaitFor(mutex, hours(1), holds));
  EXPECT_TRUE(changed.WaitFor(mutex, milliseconds(-1), holds));
  EXPECT_TRUE(changed.WaitUntil(mutex, std::chrono::steady_clock::now() + hours(1), holds));
}

TEST(CondVar, APredicateThatThrowsLeavesTheMutexHeld) {
  Mutex mutex;
  CondVar changed;
  {
    const MutexLock lock(mutex);
    EXPECT_THROW(changed.Wait(mutex, []() -> bool { throw std::runtime_error("no answer"); }), std::runtime_error);
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
}

}  // namespace
}  // namespace attune::mutex_test
