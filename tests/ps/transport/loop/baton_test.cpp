// Who drives, and how the own thread of a loop gives way.
#include "ps/transport/loop/baton.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ps/transport/loop/giving_way.h"

namespace attune::ps::baton_test {
namespace {

TEST(BatonTest, TheHolderIsTheDriver) {
  Baton baton;
  EXPECT_FALSE(baton.is_held());
  EXPECT_FALSE(baton.IsMine());
  baton.Take();
  EXPECT_TRUE(baton.is_held());
  EXPECT_TRUE(baton.IsMine());
  std::thread([&] { EXPECT_FALSE(baton.IsMine()); }).join();
  baton.Pass();
  EXPECT_FALSE(baton.is_held());
  EXPECT_FALSE(baton.IsMine());
  EXPECT_EQ(baton.drives(), 0U) << "the own thread's are not counted";
}

TEST(BatonTest, AThreadThatDrivesDoesNotWait) {
  Baton baton;
  baton.BeginWait();
  EXPECT_TRUE(baton.HasWaiters());
  const bool drives = baton.TryTake();
  ASSERT_TRUE(drives);
  EXPECT_FALSE(baton.HasWaiters());
  EXPECT_EQ(baton.drives(), 1U);
  std::thread([&] {
    baton.BeginWait();
    const bool two_drive = baton.TryTake();
    EXPECT_FALSE(two_drive);
    EXPECT_TRUE(baton.HasWaiters());
    EXPECT_TRUE(baton.EndWait()) << "the last one, and another thread drives";
  }).join();
  baton.Pass();
  baton.BeginWait();
  EXPECT_FALSE(baton.EndWait()) << "no thread drives";
}

TEST(BatonTest, TheOwnThreadLearnsWhenAllThatWaitedAreServed) {
  Baton baton;
  baton.Take();
  EXPECT_FALSE(baton.AllServed()) << "none has waited";
  baton.BeginWait();
  baton.BeginWait();
  EXPECT_FALSE(baton.AllServed());
  EXPECT_FALSE(baton.EndWait());
  EXPECT_FALSE(baton.AllServed());
  EXPECT_TRUE(baton.EndWait());
  EXPECT_TRUE(baton.AllServed());
  baton.Pass();
  baton.Take();
  EXPECT_FALSE(baton.AllServed()) << "it took over again";
  baton.Pass();
}

TEST(BatonTest, TheDriverIsAwaited) {
  Baton baton;
  std::atomic<bool> held = false, awaited = false, passed = false;
  std::thread driver([&] {
    baton.Take();
    held = true;
    while (!awaited) std::this_thread::yield();
    passed = true;
    baton.Pass();
  });
  while (!held) std::this_thread::yield();
  awaited = true;
  baton.AwaitDriver();
  EXPECT_TRUE(passed);
  driver.join();
}

// --- giving way

struct GivingWayTest : testing::Test {
  void Pause() { way.Pause(baton, tasks, stopping); }
  Baton baton;
  TaskQueue tasks;
  std::atomic<bool> stopping = false;
  GivingWay way;
};

TEST_F(GivingWayTest, WhereNoThreadDrivesItEndsByItself) { Pause(); }

TEST_F(GivingWayTest, TasksThatNoThreadRunsEndItAtOnce) {
  tasks.Post([] {});
  Pause();
  EXPECT_FALSE(tasks.empty()) << "they are for the driver";
}

TEST_F(GivingWayTest, AStopEndsItWhileAThreadDrives) {
  baton.BeginWait();
  const bool drives = baton.TryTake();
  ASSERT_TRUE(drives);
  stopping = true;
  std::thread([&] { Pause(); }).join();
  baton.Pass();
}

TEST_F(GivingWayTest, WhileAThreadDrivesItIsAskedToTakeOver) {
  baton.BeginWait();
  const bool drives = baton.TryTake();
  ASSERT_TRUE(drives);
  std::atomic<bool> over = false;
  std::thread own([&] {
    Pause();
    over = true;
  });
  while (!over) way.TakeOver();
  own.join();
  baton.Pass();
}

}  // namespace
}  // namespace attune::ps::baton_test
