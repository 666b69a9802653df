// Whether rows that had no copy cost the model what was trained. Workers report steps by heartbeats only; none comes
// here after the first.
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps::coordinator_loss_test {
namespace {

constexpr RestorePoint kCheckpoint{.directory = "/c", .checkpoint = 4, .clock = 30};

CoordinatorOptions Options() {
  return {.job_uid = "job", .servers = 2, .shards = 4, .goal = {.epochs = 1}, .items = 100, .lease_items = 50};
}

class CoordinatorLossTest : public CoordinatedJob {
 protected:
  explicit CoordinatorLossTest(CoordinatorOptions options = Options()) : CoordinatedJob(std::move(options)) {
    Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  }

  RequestHeader NextHeader() { return {.request = RequestId(++request_), .remaining = std::chrono::seconds(30)}; }
  LeaseId TakeLease() {
    Say(kWorker, LeaseRequest{.header = NextHeader(), .data_set = DataSetId(1)});
    const auto* grant = Sent<LeaseGrant>(kWorker);
    EXPECT_NE(grant, nullptr);
    return grant == nullptr ? LeaseId() : grant->lease;
  }
  void EndLease(LeaseId lease) { Say(kWorker, LeaseDone{.header = NextHeader(), .lease = lease}); }
  void LoseServer1() {
    Step(ConnectionClosed{kServer1});
    Step(FromOperator{.id = CommandId(1), .command = NodeGone{.role = Role::kServer, .index = 1, .pod = 11}});
    Step(CoordinatorTimer{});
    ASSERT_EQ(map_.recoveries, 1);
  }

 private:
  uint64_t request_ = 0;
};

TEST_F(CoordinatorLossTest, NothingIsLostBeforeAnyItemIsTaken) {
  LoseServer1();
  EXPECT_FALSE(core_->progress().model_lost);
}

TEST_F(CoordinatorLossTest, TheRowsOfALeaseThatIsOpenMayBeTrained) {
  TakeLease();
  LoseServer1();
  EXPECT_TRUE(core_->progress().model_lost);
}

TEST_F(CoordinatorLossTest, ItemsThatAreDoneWereTrainedThoughNoStepWasReported) {
  EndLease(TakeLease());
  EndLease(TakeLease());
  ASSERT_FALSE(core_->progress().goal_reached.empty());
  LoseServer1();
  EXPECT_EQ(core_->progress().steps_lost, 0U);
  EXPECT_TRUE(core_->progress().model_lost);
  ASSERT_TRUE(core_->LastRecord());
  EXPECT_TRUE(core_->LastRecord()->model_lost) << "the next coordinator must know";
}

// Half of the items are in the checkpoint.
class ResumedCoordinatorLossTest : public CoordinatorLossTest {
 protected:
  ResumedCoordinatorLossTest() : CoordinatorLossTest(Resumed()) {}

  static CoordinatorOptions Resumed() {
    CoordinatorOptions options = Options();
    options.load = kCheckpoint;
    CutRecord::DataSet half{.name = "train", .items = 100, .epochs = 1, .lease_items = 50};
    half.done = {{0, 0, 50}};
    options.resume = CutRecord{.synchronization = "bsp", .clock = 30, .steps = 60, .data_sets = {half}};
    return options;
  }
};

TEST_F(ResumedCoordinatorLossTest, WhatTheCheckpointContainsIsNotLost) {
  LoseServer1();
  EXPECT_FALSE(core_->progress().model_lost);
}

TEST_F(ResumedCoordinatorLossTest, BeforeTheGoalItIsTrainedAgain) {
  TakeLease();
  LoseServer1();
  EXPECT_FALSE(core_->progress().model_lost);
}

TEST_F(ResumedCoordinatorLossTest, AfterTheGoalTheItemsSinceThenAreMissing) {
  EndLease(TakeLease());
  ASSERT_FALSE(core_->progress().goal_reached.empty());
  LoseServer1();
  EXPECT_TRUE(core_->progress().model_lost);
}

}  // namespace
}  // namespace attune::ps::coordinator_loss_test
