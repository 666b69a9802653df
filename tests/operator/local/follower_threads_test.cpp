// Threads of log followers: how many may run, when a place is free again, and what Join waits for.
#include "operator/local/rest/follower_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

namespace attune::local::follower_threads_test {
namespace {

TEST(FollowerThreadsTest, RefusesMoreThanItsMost) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::atomic<int> ran = 0;
  FollowerThreads threads(2);
  const auto follow = [ended, &ran] {
    ended.wait();
    ++ran;
  };
  EXPECT_TRUE(threads.Start(follow));
  EXPECT_TRUE(threads.Start(follow));
  EXPECT_FALSE(threads.Start(follow)) << "both are still following";
  end.set_value();
  threads.Join();
  EXPECT_EQ(ran, 2) << "Join waits for those that were started";
}

TEST(FollowerThreadsTest, OneThatHasEndedMakesRoom) {
  FollowerThreads threads(1);
  std::promise<void> end;
  ASSERT_TRUE(threads.Start([ended = end.get_future().share()] { ended.wait(); }));
  ASSERT_FALSE(threads.Start([] {}));
  end.set_value();
  while (!threads.Start([] {})) std::this_thread::yield();  // comes to an end unless the place is lost
  threads.Join();
}

TEST(FollowerThreadsTest, NoneStartsAfterJoin) {
  FollowerThreads threads(1);
  threads.Join();
  EXPECT_FALSE(threads.Start([] { ADD_FAILURE() << "no Join would wait for this one"; }));
}

TEST(FollowerThreadsTest, WhatABodyHoldsIsGoneWhenJoinReturns) {
  FollowerThreads threads(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  ASSERT_TRUE(threads.Start([held = std::move(held)] {}));
  threads.Join();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace attune::local::follower_threads_test
