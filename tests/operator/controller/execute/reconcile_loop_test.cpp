#include "operator/controller/execute/reconcile_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace attune::controller::reconcile_loop_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class ReconcileLoopTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kPatience{30};

  // `answer` is called with how often jobs have been looked at before.
  void Start(std::function<StatusOr<std::optional<Duration>>(size_t)> answer) {
    loop_.Start(1, {.wait_until_ready = [](const auto&) { return true; },
                    .reconcile =
                        [this, answer = std::move(answer)](const kube::ObjectKey& job) {
                          const MutexLock lock(mutex_);
                          seen_.push_back(job.name);
                          changed_.NotifyAll();
                          return answer(seen_.size() - 1);
                        },
                    .on_reconciled = [](Duration) {},
                    .tick =
                        [this] {
                          const MutexLock lock(mutex_);
                          ++ticks_;
                          changed_.NotifyAll();
                        }});
  }
  bool Await(const std::function<bool()>& holds) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, kPatience, holds);
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> seen_;
  int ticks_ = 0;
  SystemTime time_;
  ReconcileLoop loop_{time_};
};

TEST_F(ReconcileLoopTest, AJobIsLookedAtOnceThereIsNewsOfIt) {
  loop_.Add({"default", "early"});
  Start([](size_t) { return std::nullopt; });
  ASSERT_TRUE(Await([&] { return seen_.size() == 1; }));
  loop_.Add({"default", "late"});
  ASSERT_TRUE(Await([&] { return seen_.size() == 2; }));
  loop_.Stop();
  EXPECT_THAT(seen_, ElementsAre("early", "late"));
  EXPECT_EQ(loop_.errors(), 0U);
}

TEST_F(ReconcileLoopTest, WhatFailsIsTriedAgainAndCounted) {
  Start([](size_t before) -> StatusOr<std::optional<Duration>> {
    if (before == 0) return Error(StatusCode::kUnavailable, "away");
    return std::nullopt;
  });
  loop_.Add({"default", "a"});
  ASSERT_TRUE(Await([&] { return seen_.size() == 2; }));
  loop_.Stop();
  EXPECT_EQ(loop_.errors(), 1U);
}

TEST_F(ReconcileLoopTest, AJobIsLookedAtAgainWhenItAsksForThat) {
  Start(
      [](size_t before) { return before < 2 ? std::optional(Duration(std::chrono::milliseconds(1))) : std::nullopt; });
  loop_.Add({"default", "a"});
  ASSERT_TRUE(Await([&] { return seen_.size() == 3; }));
  loop_.Stop();
  EXPECT_THAT(seen_, Each("a"));
}

TEST_F(ReconcileLoopTest, ItTicksWithoutAnyJob) {
  Start([](size_t) { return std::nullopt; });
  EXPECT_TRUE(Await([&] { return ticks_ >= 2; }));
}

TEST_F(ReconcileLoopTest, OneThatWasNeverReadyStops) {
  loop_.Start(2, {.wait_until_ready =
                      [&](const std::function<bool()>& stopping) {
                        while (!stopping()) std::this_thread::yield();
                        return false;
                      },
                  .reconcile = [](const kube::ObjectKey&) { return std::nullopt; },
                  .on_reconciled = [](Duration) {},
                  .tick = [] {}});
  loop_.Add({"default", "a"});
  loop_.Stop();
  EXPECT_THAT(seen_, SizeIs(0));
}

}  // namespace
}  // namespace attune::controller::reconcile_loop_test
