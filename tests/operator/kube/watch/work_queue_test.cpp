#include "operator/kube/watch/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace attune::kube::work_queue_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;

const ObjectKey kA{"n", "a"}, kB{"n", "b"}, kC{"n", "c"};

TEST(DelaySchedule, EarliestTimeOfAKeyWins) {
  DelaySchedule schedule;
  MonotonicTime start{};
  schedule.Add(kA, start + seconds(5));
  schedule.Add(kA, start + seconds(2));
  schedule.Add(kA, start + seconds(9));
  schedule.Add(kB, start + seconds(1));
  EXPECT_EQ(schedule.size(), 2U);
  EXPECT_EQ(schedule.NextDue(), start + seconds(1));
  EXPECT_THAT(schedule.TakeDue(start + seconds(2)), ElementsAre(kB, kA));
  EXPECT_THAT(schedule.TakeDue(start + minutes(1)), ElementsAre());
  EXPECT_EQ(schedule.NextDue(), kNever);
}

TEST(SerialTurns, KeyIsOnceInLineAndNeverRunsTwiceAtOnce) {
  SerialTurns turns;
  EXPECT_EQ(turns.Add(kA), SerialTurns::Added::kQueued);
  EXPECT_EQ(turns.Add(kA), SerialTurns::Added::kAlreadyQueued);
  EXPECT_EQ(turns.Take(), kA);
  EXPECT_EQ(turns.Add(kA), SerialTurns::Added::kAfterCurrent);
  EXPECT_EQ(turns.Take(), std::nullopt);
  EXPECT_TRUE(turns.Done(kA));
  EXPECT_EQ(turns.Take(), kA);
  EXPECT_FALSE(turns.Done(kA));
  EXPECT_EQ(turns.Take(), std::nullopt);
}

TEST(SerialTurnsDeathTest, DoneWithoutTakeIsABrokenInvariant) {
  SerialTurns turns;
  EXPECT_DEATH(turns.Done(kA), "Done without Get");
}

TEST(RetryBackoff, DoublesUpToTheLimitAndStartsAgainAfterReset) {
  RetryBackoff backoff({.first = milliseconds(100), .max = seconds(1), .jitter = 0});
  for (int want_ms : {100, 200, 400, 800, 1000, 1000}) EXPECT_EQ(backoff.OnFailure(kA, 0.5), milliseconds(want_ms));
  EXPECT_EQ(backoff.OnFailure(kB, 0), milliseconds(100));
  backoff.Reset(kA);
  EXPECT_EQ(backoff.OnFailure(kA, 0), milliseconds(100));
  EXPECT_EQ(backoff.Failures(kA), 1U);
  EXPECT_EQ(backoff.Failures(kC), 0U);
}

TEST(RetryBackoff, JitterOnlyAdds) {
  BackoffOptions options{.first = seconds(1), .max = seconds(8), .jitter = 0.5};
  EXPECT_EQ(BackoffDelay(options, 1, 0), seconds(1));
  EXPECT_EQ(BackoffDelay(options, 2, 0.5), milliseconds(2500));
  EXPECT_EQ(BackoffDelay(options, 4'000'000'000U, 0), seconds(8));
}

TEST(WorkQueue, DelayedKeyComesAtItsTimeOnly) {
  ManualTime time;
  WorkQueue queue(time);
  queue.AddAfter(kA, seconds(10));
  EXPECT_EQ(queue.TryGet(), std::nullopt);
  time.Advance(seconds(10));
  EXPECT_EQ(queue.TryGet(), kA);
}

TEST(WorkQueue, AddNowReplacesThePlannedTurn) {
  ManualTime time;
  WorkQueue queue(time);
  queue.AddAfter(kA, seconds(10));
  queue.Add(kA);
  EXPECT_EQ(queue.TryGet(), kA);
  queue.Done(kA);
  time.Advance(minutes(1));
  EXPECT_EQ(queue.TryGet(), std::nullopt);
}

TEST(WorkQueue, DelayThatEndsDuringATurnWaitsForItsEnd) {
  ManualTime time;
  WorkQueue queue(time);
  queue.Add(kA);
  ASSERT_EQ(queue.TryGet(), kA);
  queue.AddAfter(kA, seconds(1));
  time.Advance(seconds(2));
  EXPECT_EQ(queue.TryGet(), std::nullopt);
  queue.Done(kA);
  EXPECT_EQ(queue.TryGet(), kA);
}

TEST(WorkQueue, RetriesBackOffUntilForgotten) {
  ManualTime time;
  WorkQueue queue(time, {.first = seconds(1), .max = minutes(1), .jitter = 0});
  EXPECT_EQ(queue.AddRateLimited(kA), seconds(1));
  EXPECT_EQ(queue.AddRateLimited(kA), seconds(2));
  queue.Forget(kA);
  EXPECT_EQ(queue.AddRateLimited(kA), seconds(1));
  EXPECT_EQ(queue.NextDue(), time.Now() + seconds(1));
}

TEST(WorkQueue, CountsWhatHappened) {
  ManualTime time;
  WorkQueue queue(time, {.first = seconds(1), .max = minutes(1), .jitter = 0});
  queue.Add(kA);
  queue.Add(kA);
  queue.Add(kB);
  queue.AddRateLimited(kC);
  time.Advance(milliseconds(500));
  ASSERT_EQ(queue.TryGet(), kA);
  time.Advance(milliseconds(250));
  WorkQueueMetrics metrics = queue.metrics();
  EXPECT_EQ(metrics.depth, 1U);
  EXPECT_EQ(metrics.delayed, 1U);
  EXPECT_EQ(metrics.running, 1U);
  EXPECT_EQ(metrics.adds, 4U);
  EXPECT_EQ(metrics.retries, 1U);
  EXPECT_DOUBLE_EQ(metrics.queue_seconds, 0.5);
  EXPECT_DOUBLE_EQ(metrics.longest_running_seconds, 0.25);
  queue.Done(kA);
  EXPECT_DOUBLE_EQ(queue.metrics().work_seconds, 0.25);
}

TEST(WorkQueue, ShutDownWakesWaitersAndHandsOutNothing) {
  SystemTime time;
  WorkQueue queue(time);
  std::optional<ObjectKey> got = kA;
  std::thread waiter([&] { got = queue.Get(); });
  queue.ShutDown();
  waiter.join();
  EXPECT_EQ(got, std::nullopt);
  queue.Add(kA);
  EXPECT_EQ(queue.TryGet(), std::nullopt);
}

TEST(WorkQueue, WaitingGetReturnsADelayedKeyByItself) {
  SystemTime time;
  WorkQueue queue(time);
  queue.AddAfter(kA, milliseconds(2));
  EXPECT_EQ(queue.Get(), kA);
}

// Many producers and consumers: a key is never worked on by two at once, and every add is followed by a turn that began
// after it.
TEST(WorkQueue, ConcurrentWorkersNeverShareAKeyAndLoseNoAdd) {
  SystemTime time;
  WorkQueue queue(time);
  constexpr int kKeys = 5, kAdds = 2000;
  std::atomic<int> busy[kKeys] = {}, wanted[kKeys] = {}, seen[kKeys] = {};
  std::atomic<bool> overlapped = false;
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (auto key = queue.Get()) {
        int i = std::stoi(key->name);
        if (busy[i].fetch_add(1) != 0) overlapped = true;
        seen[i] = wanted[i].load();
        busy[i].fetch_sub(1);
        queue.Done(*key);
      }
    });
  }
  for (int n = 0; n < kAdds; ++n) {
    int i = n % kKeys;
    wanted[i].fetch_add(1);
    queue.Add({"", std::to_string(i)});
  }
  auto deadline = std::chrono::steady_clock::now() + seconds(20);
  auto idle = [&] {
    WorkQueueMetrics m = queue.metrics();
    return m.depth == 0 && m.running == 0;
  };
  while (!idle() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  queue.ShutDown();
  for (std::thread& worker : workers) worker.join();
  EXPECT_FALSE(overlapped);
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(seen[i], wanted[i]) << i;
}

// The obvious twin: a vector of (due, key) searched from the front, against the queue under random operations.
TEST(WorkQueue, AgreesWithAnObviousTwin) {
  const char* from_environment = std::getenv("ATTUNE_TEST_SEED");
  uint64_t seed = from_environment != nullptr ? std::strtoull(from_environment, nullptr, 10) : 20261121;
  std::cout << "ATTUNE_TEST_SEED=" << seed << " operations=20000 keys=6\n";
  Random random(seed);
  ManualTime time;
  WorkQueue queue(time);
  std::map<ObjectKey, MonotonicTime> planned;  // delayed
  std::vector<ObjectKey> line;
  std::set<ObjectKey> running, after_running;
  auto put_in_line = [&](const ObjectKey& key) {
    planned.erase(key);
    if (running.contains(key)) {
      after_running.insert(key);
    } else if (std::find(line.begin(), line.end(), key) == line.end()) {
      line.push_back(key);
    }
  };
  for (int n = 0; n < 20000; ++n) {
    ObjectKey key{"", std::string(1, static_cast<char>('a' + random.Below(6)))};
    switch (random.Below(5)) {
      case 0:
        queue.Add(key);
        put_in_line(key);
        break;
      case 1: {
        Duration delay = seconds(1 + random.Below(5));
        queue.AddAfter(key, delay);
        auto [place, is_new] = planned.try_emplace(key, time.Now() + delay);
        if (!is_new) place->second = std::min(place->second, time.Now() + delay);
        break;
      }
      case 2:
        time.Advance(milliseconds(random.Below(1500)));
        break;
      case 3: {
        std::vector<std::pair<MonotonicTime, ObjectKey>> due;
        for (const auto& [k, at] : planned) {
          if (at <= time.Now()) due.emplace_back(at, k);
        }
        std::sort(due.begin(), due.end());
        for (const auto& [at, k] : due) put_in_line(k);
        std::optional<ObjectKey> want;
        if (!line.empty()) {
          want = line.front();
          line.erase(line.begin());
          running.insert(*want);
        }
        ASSERT_EQ(queue.TryGet(), want) << "operation " << n;
        break;
      }
      default:
        if (running.contains(key)) {
          queue.Done(key);
          running.erase(key);
          if (after_running.erase(key) == 1) line.push_back(key);
        }
    }
  }
}

}  // namespace
}  // namespace attune::kube::work_queue_test
