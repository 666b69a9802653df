#include "ps/transport/loop/file_watches.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

namespace attune::ps::file_watches_test {
namespace {

struct Pair {
  Pair() {
    int both[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both), 0);
    here = FileDescriptor(both[0]);
    there = FileDescriptor(both[1]);
  }
  void Say() { EXPECT_EQ(::write(there.get(), "x", 1), 1); }
  FileDescriptor here, there;
};

struct FileWatchesTest : testing::Test {
  bool Handle() { return files.Handle(0, stopping); }
  Bell bell;
  FileWatches files{bell};
  std::atomic<bool> stopping = false;
};

TEST_F(FileWatchesTest, WhatIsReadyIsCalledAsLongAsItIsWanted) {
  Pair pair;
  int readable = 0, writable = 0;
  const auto watch = files.New(pair.here.get(), [&](bool read, bool write) {
    readable += read ? 1 : 0;
    writable += write ? 1 : 0;
  });
  pair.Say();
  EXPECT_FALSE(Handle()) << "nothing is wanted yet";
  watch->Want(true, false);
  EXPECT_TRUE(Handle());
  EXPECT_EQ(readable, 1);
  EXPECT_EQ(writable, 0);
  watch->Want(false, true);
  EXPECT_TRUE(Handle());
  EXPECT_EQ(readable, 1);
  EXPECT_EQ(writable, 1);
  watch->Want(false, false);
  EXPECT_FALSE(Handle());
}

TEST_F(FileWatchesTest, AnEndIsReadyForBoth) {
  Pair pair;
  bool readable = false, writable = false;
  const auto watch = files.New(pair.here.get(), [&](bool read, bool write) {
    readable = read;
    writable = write;
  });
  watch->Want(true, false);
  pair.there.Close();
  EXPECT_TRUE(Handle());
  EXPECT_TRUE(readable && writable);
}

TEST_F(FileWatchesTest, AHandlerMayEndWatchesThatAreReadyToo) {
  Pair first, second;
  std::unique_ptr<EventLoop::Watch> watches[2];
  int called = 0;
  const auto end_all = [&](bool, bool) {
    ++called;
    for (auto& watch : watches) watch.reset();
  };
  watches[0] = files.New(first.here.get(), end_all);
  watches[1] = files.New(second.here.get(), end_all);
  for (const auto& watch : watches) watch->Want(true, false);
  first.Say();
  second.Say();
  EXPECT_TRUE(Handle());
  EXPECT_EQ(called, 1);
}

TEST_F(FileWatchesTest, WhatIsStoppingCallsNoMore) {
  Pair first, second;
  int called = 0;
  const auto stop = [&](bool, bool) {
    ++called;
    stopping = true;
  };
  const auto a = files.New(first.here.get(), stop), b = files.New(second.here.get(), stop);
  a->Want(true, false);
  b->Want(true, false);
  first.Say();
  second.Say();
  EXPECT_TRUE(Handle());
  EXPECT_EQ(called, 1);
}

TEST_F(FileWatchesTest, TheBellEndsASleepAndIsNoWork) {
  constexpr int kForever = -1;
  bell.BeginSleep();
  std::thread other([&] { bell.RingIfAsleep(); });
  EXPECT_FALSE(files.Handle(kForever, stopping));
  other.join();
  bell.EndSleep();
}

TEST_F(FileWatchesTest, AThreadThatIsAwakeIsNotRung) {
  uint64_t rung = 0;
  bell.RingIfAsleep();
  EXPECT_EQ(::read(bell.fd(), &rung, sizeof rung), -1);
  bell.BeginSleep();
  bell.RingIfAsleep();
  bell.RingIfAsleep();
  EXPECT_EQ(::read(bell.fd(), &rung, sizeof rung), static_cast<ssize_t>(sizeof rung));
  EXPECT_EQ(rung, 1U) << "the first has ended the sleep";
}

}  // namespace
}  // namespace attune::ps::file_watches_test
