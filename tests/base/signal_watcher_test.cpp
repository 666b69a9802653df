#include "base/os/signal_watcher.h"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <thread>

namespace attune::signal_watcher_test {
namespace {

int handled_before = 0;
void CountInHandler(int) { ++handled_before; }

// Where a call for the signal arrives.
struct Arrival {
  std::promise<std::thread::id> thread;
  std::promise<int> number;
  std::function<void(int)> Taker() {
    return [this](int signal) {
      thread.set_value(std::this_thread::get_id());
      number.set_value(signal);
    };
  }
};

TEST(SignalWatcherTest, ASignalIsACallOnAnotherThread) {
  Arrival arrival;
  const auto watcher = SignalWatcher::Install({SIGUSR1, SIGUSR2}, arrival.Taker());
  ASSERT_NE(watcher, nullptr);
  std::raise(SIGUSR2);
  EXPECT_EQ(arrival.number.get_future().get(), SIGUSR2);
  EXPECT_NE(arrival.thread.get_future().get(), std::this_thread::get_id());
}

TEST(SignalWatcherTest, EachOfSeveralWatchersIsCalledForItsOwnSignals) {
  Arrival first, second;
  const auto one = SignalWatcher::Install({SIGUSR1}, first.Taker());
  const auto two = SignalWatcher::Install({SIGUSR1}, second.Taker());
  const auto other = SignalWatcher::Install({SIGUSR2}, [](int) { ADD_FAILURE() << "not its signal"; });
  std::raise(SIGUSR1);
  EXPECT_EQ(first.number.get_future().get(), SIGUSR1);
  EXPECT_EQ(second.number.get_future().get(), SIGUSR1);
}

TEST(SignalWatcherTest, ThePreviousHandlerReturnsWithTheLastWatcher) {
  const auto before = std::signal(SIGUSR1, CountInHandler);
  handled_before = 0;
  auto one = SignalWatcher::Install({SIGUSR1}, [](int) {});
  auto two = SignalWatcher::Install({SIGUSR1}, [](int) {});
  one.reset();
  std::raise(SIGUSR1);
  EXPECT_EQ(handled_before, 0);
  two.reset();
  std::raise(SIGUSR1);
  EXPECT_EQ(handled_before, 1);
  std::signal(SIGUSR1, before);
}

}  // namespace
}  // namespace attune::signal_watcher_test
