#include "ps/transport/event_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "ps/transport/cores.h"

namespace attune::ps::event_loop_test {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);

TEST(EventLoopTest, TasksRunInTheOrderOfPosting) {
  SystemTime time;
  const auto loop = EventLoop::Start("test", time);
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) loop->Post([&, i] { order.push_back(i); });
  loop->Post([&] { done.set_value(); });
  ASSERT_EQ(done.get_future().wait_for(kDeadline), std::future_status::ready);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(EventLoopTest, TimersFireOnceInOrderAndNotWhenCanceled) {
  SystemTime time;
  const auto loop = EventLoop::Start("test", time);
  std::vector<int> fired;
  std::promise<void> done;
  std::unique_ptr<EventLoop::Timer> a, b, c;
  loop->Post([&] {
    a = loop->NewTimer();
    b = loop->NewTimer();
    c = loop->NewTimer();
    const MonotonicTime now = time.Now();
    a->SetAt(now + std::chrono::milliseconds(30), [&] {
      fired.push_back(2);
      done.set_value();
    });
    b->SetAt(now + std::chrono::milliseconds(5), [&] { fired.push_back(1); });
    c->SetAt(now + std::chrono::milliseconds(5), [&] { fired.push_back(9); });
    c->Cancel();
  });
  ASSERT_EQ(done.get_future().wait_for(kDeadline), std::future_status::ready);
  EXPECT_EQ(fired, (std::vector<int>{1, 2}));
  loop->Stop();
}

TEST(EventLoopTest, WaitingThreadDoesTheWork) {
  SystemTime time;
  const auto loop = EventLoop::Start("test", time);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  std::atomic<int> handled = 0, by_waiter = 0;
  const std::thread::id self = std::this_thread::get_id();
  std::unique_ptr<EventLoop::Watch> watch;
  loop->Post([&] {
    watch = loop->WatchFile(pair[0], [&](bool, bool) {
      char byte;
      if (::read(pair[0], &byte, 1) != 1) return;
      by_waiter += std::this_thread::get_id() == self ? 1 : 0;
      ++handled;
    });
    watch->Want(true, false);
  });
  // Which thread comes first in a round is chance; some round is the waiter's.
  constexpr int kRounds = 200;
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  for (int i = 1; i <= kRounds || (by_waiter == 0 && std::chrono::steady_clock::now() < deadline); ++i) {
    ASSERT_EQ(::write(pair[1], "x", 1), 1);
    std::atomic<bool> slept = false;
    loop->WaitFor([&] { return handled >= i; },
                  [&] {
                    slept = true;
                    while (handled < i) std::this_thread::yield();
                  });
    ASSERT_GE(handled, i);
  }
  EXPECT_GT(by_waiter, 0) << "every answer came from the loop's own thread";
  std::promise<void> done;
  loop->Post([&] {
    watch.reset();
    done.set_value();
  });
  ASSERT_EQ(done.get_future().wait_for(kDeadline), std::future_status::ready) << "its own thread continues afterwards";
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST(EventLoopTest, ManyWaitersAllComeBack) {
  SystemTime time;
  const auto loop = EventLoop::Start("test", time);
  std::vector<std::thread> threads;
  std::atomic<int> ended = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        std::atomic<bool> done = false;
        loop->Post([&] {
          done = true;
          done.notify_all();
        });
        loop->WaitFor([&] { return done.load(); }, [&] { done.wait(false); });
        loop->Wake();
      }
      ++ended;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 4);
}

TEST(EventLoopTest, WakeMakesAWaiterLookAgain) {
  SystemTime time;
  const auto loop = EventLoop::Start("test", time);
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> done = false;
    std::thread other([&] {
      done = true;
      done.notify_all();
      loop->Wake();
    });
    loop->WaitFor([&] { return done.load(); }, [&] { done.wait(false); });
    EXPECT_TRUE(done);
    other.join();
  }
}

TEST(EventLoopTest, StopEndsWaitersTooOnceTheirAnswerIsThere) {
  SystemTime time;
  const auto loop = EventLoop::Start("test", time);
  std::atomic<bool> done = false;
  std::atomic<bool> waiting = false;
  std::thread waiter([&] {
    waiting = true;
    loop->WaitFor([&] { return done.load(); }, [&] { done.wait(false); });
  });
  while (!waiting) std::this_thread::yield();
  loop->Stop();
  EXPECT_TRUE(loop->stopped());
  done = true;
  done.notify_all();
  waiter.join();
}

TEST(CoresTest, ThereIsAtLeastOne) { EXPECT_GE(AvailableCores(), 1); }

}  // namespace
}  // namespace attune::ps::event_loop_test
