#include "base/os/thread_time.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace attune::thread_time_test {
namespace {

// Processor time of the calling thread until it has used so much more.
void Work(double seconds) {
  ThreadTime own;
  own.WatchThis();
  const double until = own.seconds() + seconds;
  while (own.seconds() < until) {
  }
}

TEST(ThreadTimeTest, IsThatOfTheWatchedThreadAlone) {
  ThreadTime time;
  EXPECT_EQ(time.seconds(), 0) << "none is watched";
  std::latch watched(1), read(1);
  std::thread other([&] {
    time.WatchThis();
    Work(0.02);
    watched.count_down();
    read.wait();
  });
  watched.wait();
  const double used = time.seconds();
  EXPECT_GE(used, 0.02);
  Work(0.05);
  EXPECT_LT(time.seconds(), used + 0.05) << "the other one waits meanwhile";
  read.count_down();
  other.join();
}

}  // namespace
}  // namespace attune::thread_time_test
