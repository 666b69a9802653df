#include "ps/core/worker/worker_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::worker_steps_test {
namespace {

class WorkerStepsTest : public testing::Test {
 protected:
  void Push() {
    const std::vector<Key> keys = {1};
    groups_.Group(TableId(1), keys, cluster_, LocationCache(16), nullptr);
    pushes_.Add({.gradients = {{.keys = keys, .values = std::vector<float>{0}}, 1, groups_, MapVersion()}});
  }
  void SettlePush(uint64_t number) {
    std::vector<Completion> completions;
    pushes_.Settle(SequenceNumber(number), {.first = 0, .count = 1, .list = {}}, OkStatus(), completions);
  }
  Heartbeat Said() const {
    Heartbeat heartbeat;
    steps_.DescribeIn(heartbeat);
    return heartbeat;
  }
  static SyncState Bsp(uint64_t revision, uint64_t floor) {
    return {.revision = revision, .floor = floor, .mode = SyncMode::Bsp(), .mode_before = SyncMode::Bsp()};
  }

  ClusterView cluster_ = SmallCluster();
  RouteGroups groups_;
  PushWindow pushes_{{.in_flight_max = 8}};
  WorkerSteps steps_{{}, {}};
};

TEST_F(WorkerStepsTest, AStepThatOthersWaitForIsReportedOnceItsPushesAreSettled) {
  steps_.Adopt(Bsp(1, 0));
  Push();
  EXPECT_FALSE(steps_.End(10, 0.5, pushes_).report);
  EXPECT_EQ(Said().steps, 0U);
  SettlePush(1);
  EXPECT_TRUE(steps_.Settle(pushes_).report);
  EXPECT_FALSE(steps_.Settle(pushes_).report) << "it has been";
  EXPECT_EQ(Said().steps, 1U);
  EXPECT_EQ(Said().clock, 1U);
  EXPECT_EQ(Said().samples, 10U);
  EXPECT_EQ(steps_.ended(), 1U);
}

TEST_F(WorkerStepsTest, WithoutOpenPushesAStepCountsAtItsEnd) {
  steps_.Adopt(Bsp(1, 0));
  EXPECT_TRUE(steps_.End(1, 0, pushes_).report);
  EXPECT_FALSE(steps_.End(1, 0, pushes_).report) << "no step is in progress";
  EXPECT_EQ(steps_.ended(), 1U);
}

TEST_F(WorkerStepsTest, AStepThatNoneWaitsForIsNotReportedAtOnce) {
  EXPECT_FALSE(steps_.End(1, 0, pushes_).report);
  EXPECT_EQ(Said().steps, 1U) << "the next heartbeat says it";
}

TEST_F(WorkerStepsTest, TheNextStepBeginsOnce) {
  steps_.Adopt(Bsp(1, 0));
  EXPECT_FALSE(steps_.TryBegin(pushes_).begun) << "one is in progress";
  steps_.End(1, 0, pushes_);
  EXPECT_FALSE(steps_.TryBegin(pushes_).begun);
  steps_.Adopt(Bsp(2, 1));
  EXPECT_TRUE(steps_.TryBegin(pushes_).begun);
  EXPECT_FALSE(steps_.TryBegin(pushes_).begun);
}

TEST_F(WorkerStepsTest, AClockThatIsLiftedIsReported) {
  steps_.Adopt(Bsp(1, 0));
  steps_.End(1, 0, pushes_);
  steps_.Adopt(Bsp(2, 5));
  const WorkerSteps::Outcome outcome = steps_.TryBegin(pushes_);
  EXPECT_TRUE(outcome.begun);
  EXPECT_TRUE(outcome.report);
  EXPECT_EQ(Said().clock, 5U);
}

TEST_F(WorkerStepsTest, ANewHoldAsksForAPromise) {
  EXPECT_EQ(steps_.Adopt({.revision = 1}), WorkerSteps::News::kNew);
  EXPECT_EQ(steps_.Adopt({.revision = 1}), WorkerSteps::News::kNone);
  EXPECT_EQ(steps_.Adopt({.revision = 2, .hold = 3, .hold_at = 9}), WorkerSteps::News::kNewHold);
  EXPECT_EQ(steps_.Adopt({.revision = 3, .hold = 3, .hold_at = 9}), WorkerSteps::News::kNew);
  EXPECT_EQ(steps_.Adopt({.revision = 4}), WorkerSteps::News::kNew) << "the hold is over";
  EXPECT_EQ(Said().promised, 0U);
}

TEST_F(WorkerStepsTest, AWorkerThatJoinsLateStandsAtTheFloor) {
  steps_.Join(Bsp(7, 40));
  EXPECT_EQ(steps_.gate().clock(), 40U);
  EXPECT_EQ(Said().clock, 40U);
  EXPECT_EQ(Said().steps, 0U);
}

TEST_F(WorkerStepsTest, WhatHoldsAStepIsNamed) {
  SyncState sync = Bsp(1, 0);
  sync.slowest = kOtherWorker;
  steps_.Adopt(sync);
  steps_.End(1, 0, pushes_);
  const auto holds = [&](bool fenced) { return steps_.WhatHolds(cluster_, fenced); };
  EXPECT_NE(holds(false).find("not reachable"), std::string::npos) << holds(false);
  cluster_.SetConnected(kCoordinator);
  EXPECT_NE(holds(true).find("not answered"), std::string::npos) << holds(true);
  EXPECT_NE(holds(false).find(Describe(cluster_.map(), kOtherWorker)), std::string::npos) << holds(false);
  sync.revision = 2;
  sync.hold = 1;
  sync.hold_at = 1;
  steps_.Adopt(sync);
  EXPECT_NE(holds(false).find("checkpoint"), std::string::npos) << holds(false);
}

}  // namespace
}  // namespace attune::ps::worker_steps_test
