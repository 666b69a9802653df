// When training is over, and what may still happen then.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps::coordinator_goal_test {
namespace {

// One server and two workers that speak to a coordinator; requests are numbered per node.
class CoordinatorGoalTest : public testing::Test {
 protected:
  void Start(JobGoal goal, const std::optional<CutRecord>& resume = std::nullopt) {
    core_.emplace(CoordinatorOptions{.job_uid = "job", .servers = 1, .shards = 4, .goal = goal, .resume = resume});
    Say(kServer, Join{.incarnation = 1, .job_uid = "job", .role = Role::kServer, .address = "127.0.0.1:1"});
    Say(kFirst, Join{.incarnation = 2, .job_uid = "job", .index = 0});
    Say(kSecond, Join{.incarnation = 3, .job_uid = "job", .index = 1});
  }

  // Everything the coordinator says at once to anyone, in order.
  std::vector<ToConnection> Say(ConnectionId from, Message message) {
    Step(FromConnection{from, std::move(message)});
    return out_.send;
  }
  void Step(CoordinatorInput input) {
    out_.Clear();
    core_->Step(std::move(input), now_, out_);
    if (out_.goal_reached) goal_reached_ = *out_.goal_reached;
    finished_ = finished_ || out_.finished;
  }

  template <typename Answer>
  static std::optional<Answer> Find(const std::vector<ToConnection>& sent, ConnectionId to) {
    for (const ToConnection& item : sent) {
      if (item.to != to) continue;
      if (const auto* answer = std::get_if<Answer>(&item.message)) return *answer;
    }
    return std::nullopt;
  }

  RequestHeader NextHeader() { return {.request = RequestId(++request_), .remaining = std::chrono::seconds(30)}; }

  DataSetId Open(ConnectionId worker, const std::string& name, const DataSetOptions& options) {
    const auto sent = Say(worker, OpenDataSet{.header = NextHeader(), .name = name, .options = options});
    const auto opened = Find<DataSetOpened>(sent, worker);
    EXPECT_TRUE(opened.has_value()) << name;
    return opened ? opened->data_set : DataSetId();
  }
  std::vector<ToConnection> AskLease(ConnectionId worker, DataSetId data_set) {
    return Say(worker, LeaseRequest{.header = NextHeader(), .data_set = data_set});
  }
  std::vector<ToConnection> EndLease(ConnectionId worker, LeaseId lease) {
    return Say(worker, LeaseDone{.header = NextHeader(), .lease = lease});
  }

  // To the end of the goal, by the first worker.
  void Train() { Train(kFirst); }
  void Train(ConnectionId worker) {
    const DataSetId train = Open(worker, "train", {.items = 1});
    EndLease(worker, Find<LeaseGrant>(AskLease(worker, train), worker)->lease);
    ASSERT_NE(goal_reached_, "");
  }
  // By the platform's word of its process, whose connection has ended.
  void Lose(ConnectionId worker, uint32_t index) {
    const uint32_t before = core_->progress().workers;
    Step(ConnectionClosed{worker});
    Step(FromOperator{.id = CommandId(++request_), .command = NodeGone{.role = Role::kWorker, .index = index}});
    for (int second = 0; second < 3 && core_->progress().workers == before; ++second) {
      now_ += std::chrono::seconds(1);
      for (const ConnectionId other : {kServer, kFirst, kSecond}) {
        if (other != worker) Say(other, Heartbeat{.number = ++heartbeats_, .unreached = {}});
      }
      Step(CoordinatorTimer{});
    }
    EXPECT_EQ(core_->progress().workers, before - 1);
  }

  const ConnectionId kServer{1}, kFirst{2}, kSecond{3};
  uint64_t heartbeats_ = 0;
  bool finished_ = false;
  std::optional<CoordinatorCore> core_;
  CoordinatorOutputs out_;
  MonotonicTime now_{std::chrono::seconds(1)};
  uint64_t request_ = 0;
  std::string goal_reached_;
};

TEST_F(CoordinatorGoalTest, ClosingWorkGoesOnAfterTheGoalAndToOneWorkerOnly) {
  Start({.epochs = 1});
  const DataSetId train = Open(kFirst, "train", {.items = 1});
  const LeaseId lease = Find<LeaseGrant>(AskLease(kFirst, train), kFirst)->lease;
  EndLease(kFirst, lease);
  EXPECT_EQ(goal_reached_, "1 epoch done");
  const DataSetId evaluate = Open(kFirst, "evaluate", {.items = 1, .epochs = 1});
  EXPECT_EQ(Open(kSecond, "evaluate", {.items = 1, .epochs = 1}), evaluate);
  const auto grant = Find<LeaseGrant>(AskLease(kSecond, evaluate), kSecond);
  ASSERT_TRUE(grant.has_value());
  EXPECT_FALSE(Find<LeaseGrant>(AskLease(kFirst, evaluate), kFirst).has_value()) << "there is one item";
  const auto ended = Find<LeasesEnded>(EndLease(kSecond, grant->lease), kFirst);
  ASSERT_TRUE(ended.has_value()) << "who waited is informed that it is done";
  EXPECT_EQ(ended->reason, LeasesEndReason::kAllDone);
  EXPECT_EQ(core_->progress().data_set, "train") << "progress is that of training";
}

TEST_F(CoordinatorGoalTest, ClosingWorkWaitsForTrainingLeasesOfOthersWhenTheGoalCutsTrainingShort) {
  Start({.steps = 10});
  const DataSetId train = Open(kFirst, "train", {.items = 100, .lease_items = 10});
  const DataSetId evaluate = Open(kFirst, "evaluate", {.items = 1, .epochs = 1});
  const LeaseId first = Find<LeaseGrant>(AskLease(kFirst, train), kFirst)->lease;
  const LeaseId second = Find<LeaseGrant>(AskLease(kSecond, train), kSecond)->lease;
  Say(kFirst, Heartbeat{.number = 1, .steps = 12});
  EXPECT_EQ(goal_reached_, "10 steps done");
  EXPECT_TRUE(Find<LeasesEnded>(AskLease(kFirst, train), kFirst).has_value()) << "no more training";
  EndLease(kFirst, first);
  EXPECT_FALSE(Find<LeaseGrant>(AskLease(kFirst, evaluate), kFirst).has_value()) << "the second worker still trains";
  EXPECT_TRUE(Find<LeaseGrant>(EndLease(kSecond, second), kFirst).has_value());
}

TEST_F(CoordinatorGoalTest, WithoutAWordOnHowOftenNoEvaluationIsEverDue) {
  Start({.epochs = 2});
  const DataSetId train = Open(kFirst, "train", {.items = 1});
  const DataSetId validate = Open(kFirst, "validate", {.when_due = true});
  const auto ended = Find<LeasesEnded>(AskLease(kFirst, validate), kFirst);
  ASSERT_TRUE(ended.has_value()) << "no process has to ask again";
  EXPECT_EQ(ended->reason, LeasesEndReason::kAllDone);
  for (int epoch = 0; epoch < 2; ++epoch) EndLease(kFirst, Find<LeaseGrant>(AskLease(kFirst, train), kFirst)->lease);
  EXPECT_EQ(goal_reached_, "2 epochs done") << "what is never done holds no goal up";
}

TEST_F(CoordinatorGoalTest, AFigureThatIsGoodEnoughIsAGoalAndNeedsNoEpochs) {
  Start({.target_metric = TargetMetric{"recall", 0.75, true}});
  const DataSetId train = Open(kFirst, "train", {.items = 1});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto grant = Find<LeaseGrant>(AskLease(kFirst, train), kFirst);
    ASSERT_TRUE(grant.has_value()) << epoch;
    EndLease(kFirst, grant->lease);
  }
  Say(kSecond, ReportMetric{.header = NextHeader(), .name = "recall", .value = 0.5});
  EXPECT_EQ(goal_reached_, "");
  Say(kSecond, ReportMetric{.header = NextHeader(), .name = "recall", .value = 0.8});
  EXPECT_EQ(goal_reached_, "recall >= 0.75 at epoch 3 (0.8)");
}

TEST_F(CoordinatorGoalTest, ADataSetWithEpochsOfItsOwnNeitherReachesTheGoalNorIsLimitedByIt) {
  Start({.epochs = 1});
  Open(kFirst, "train", {.items = 1});
  const DataSetId probe = Open(kFirst, "probe", {.items = 1, .epochs = 2});
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto grant = Find<LeaseGrant>(AskLease(kFirst, probe), kFirst);
    ASSERT_TRUE(grant.has_value()) << "epoch " << epoch;
    EndLease(kFirst, grant->lease);
  }
  EXPECT_EQ(goal_reached_, "");
}

TEST_F(CoordinatorGoalTest, TheJobIsFinishedWhenTheLastWorkerHasLeftAfterTheGoal) {
  Start({.epochs = 1});
  const DataSetId train = Open(kFirst, "train", {.items = 1});
  EndLease(kFirst, Find<LeaseGrant>(AskLease(kFirst, train), kFirst)->lease);
  Say(kFirst, Leave{.header = NextHeader()});
  EXPECT_FALSE(out_.finished);
  Say(kSecond, Leave{.header = NextHeader()});
  EXPECT_TRUE(out_.finished);
}

// --- what follows the goal

TEST_F(CoordinatorGoalTest, AJobWhoseClosingWorkHasFailedWaitsForAnotherWorkerWithItsRows) {
  constexpr ConnectionId kThird{9};
  Start({.epochs = 1});
  Train();
  const DataSetId evaluate = Open(kFirst, "evaluate", {.items = 1, .epochs = 1});
  const LeaseId lease = Find<LeaseGrant>(AskLease(kFirst, evaluate), kFirst)->lease;
  Say(kFirst, LeaseReturn{.header = NextHeader(), .lease = lease, .position = 0});
  for (const ConnectionId worker : {kFirst, kSecond}) Say(worker, Leave{.header = NextHeader()});
  EXPECT_FALSE(finished_) << "both have left in order, and nothing is saved";
  EXPECT_FALSE(core_->progress().closing.done);
  EXPECT_EQ(core_->progress().closing.data_set, "evaluate");
  EXPECT_EQ(core_->progress().closing.items_left, 1U);

  Say(kThird, Join{.incarnation = 5, .job_uid = "job", .index = 0});
  EXPECT_EQ(Open(kThird, "evaluate", {.items = 1, .epochs = 1}), evaluate);
  EndLease(kThird, Find<LeaseGrant>(AskLease(kThird, evaluate), kThird)->lease);
  EXPECT_FALSE(core_->progress().closing.done) << "it may have more to do";
  Say(kThird, Leave{.header = NextHeader()});
  EXPECT_TRUE(finished_);
  EXPECT_TRUE(core_->progress().closing.done);
  EXPECT_TRUE(core_->progress().closing.declared);
}

TEST_F(CoordinatorGoalTest, AJobResumedAfterItsLastItemKnowsWhatFollowsTheGoalFromTheFirstRequestOn) {
  CutRecord::DataSet all{.name = "train", .items = 10, .epochs = 1, .lease_items = 10};
  all.finished_epochs = 1;
  Start({.epochs = 1}, CutRecord{.synchronization = "bsp", .data_sets = {all}});
  const auto ended =
      Find<LeasesEnded>(AskLease(kFirst, Open(kFirst, "train", {.items = 10, .lease_items = 10})), kFirst);
  ASSERT_TRUE(ended);
  EXPECT_EQ(goal_reached_, "1 epoch done");
  const DataSetId evaluate = Open(kFirst, "evaluate", {.items = 1, .epochs = 1});
  const LeaseId lease = Find<LeaseGrant>(AskLease(kFirst, evaluate), kFirst)->lease;
  Say(kFirst, LeaseReturn{.header = NextHeader(), .lease = lease, .position = 0});
  for (const ConnectionId worker : {kFirst, kSecond}) Say(worker, Leave{.header = NextHeader()});
  EXPECT_FALSE(finished_) << "nothing is evaluated";
}

TEST_F(CoordinatorGoalTest, ALostWorkersClosingWorkIsDoneByAnother) {
  Start({.epochs = 1});
  Train();
  const DataSetId evaluate = Open(kFirst, "evaluate", {.items = 1, .epochs = 1});
  ASSERT_TRUE(Find<LeaseGrant>(AskLease(kFirst, evaluate), kFirst));
  AskLease(kSecond, evaluate);
  Say(kSecond, Leave{.header = NextHeader()});
  Lose(kFirst, 0);
  EXPECT_FALSE(finished_);
  EXPECT_EQ(core_->progress().closing.data_set, "evaluate");
}

// What it did is not known: the one who has left before may have relied on it.
TEST_F(CoordinatorGoalTest, AWorkerLostAfterTheGoalIsMadeUpForByOneThatJoinsLater) {
  constexpr ConnectionId kThird{9};
  Start({.epochs = 1});
  Train();
  Lose(kFirst, 0);
  Say(kSecond, Leave{.header = NextHeader()});
  EXPECT_FALSE(finished_) << "the second one was there before";
  Say(kThird, Join{.incarnation = 5, .job_uid = "job", .index = 0});
  Say(kThird, Leave{.header = NextHeader()});
  EXPECT_TRUE(finished_);
  EXPECT_FALSE(core_->progress().closing.declared);
}

TEST_F(CoordinatorGoalTest, AWorkerThatIsAskedToLeaveHasNotDoneTheClosingWork) {
  constexpr ConnectionId kThird{9};
  Start({.epochs = 1});
  Lose(kFirst, 0);  // its successor has yet to join
  Train(kSecond);
  Say(kSecond, Leave{.header = NextHeader(), .drained = true});
  EXPECT_FALSE(finished_) << "the last one was scaled away or its node drained";
  Say(kThird, Join{.incarnation = 5, .job_uid = "job", .index = 0});
  Say(kThird, Leave{.header = NextHeader()});
  EXPECT_TRUE(finished_);
}

TEST_F(CoordinatorGoalTest, AWorkerLostAfterTheClosingWorkIsDoneChangesNothing) {
  Start({.epochs = 1});
  Train();
  const DataSetId evaluate = Open(kFirst, "evaluate", {.items = 1, .epochs = 1});
  EndLease(kFirst, Find<LeaseGrant>(AskLease(kFirst, evaluate), kFirst)->lease);
  Say(kFirst, Leave{.header = NextHeader()});
  Lose(kSecond, 1);
  EXPECT_TRUE(finished_);
}

TEST_F(CoordinatorGoalTest, AnEvaluationBeforeTheGoalIsNoClosingWork) {
  Start({.epochs = 1});
  const DataSetId probe = Open(kFirst, "probe", {.items = 1, .epochs = 1});
  Open(kFirst, "train", {.items = 1});
  EndLease(kFirst, Find<LeaseGrant>(AskLease(kFirst, probe), kFirst)->lease);
  Train();
  EXPECT_FALSE(core_->progress().closing.declared);
  Lose(kFirst, 0);
  Lose(kSecond, 1);
  EXPECT_FALSE(finished_) << "no worker has left in order";
}

// The program counts its steps itself, and leaves when it has done them.
TEST_F(CoordinatorGoalTest, TheLeaveThatReachesTheGoalIsInOrder) {
  Start({.steps = 10});
  Say(kFirst, Leave{.header = NextHeader(), .steps = 4});
  Say(kSecond, Leave{.header = NextHeader(), .steps = 6});
  EXPECT_EQ(goal_reached_, "10 steps done");
  EXPECT_TRUE(finished_);
}

// A server has joined, and is not in use yet, when the last worker leaves.
TEST_F(CoordinatorGoalTest, NoRowsMoveOnceTheJobHasFinished) {
  constexpr ConnectionId kLate{9};
  Start({.epochs = 1});
  const DataSetId train = Open(kFirst, "train", {.items = 1});
  EndLease(kFirst, Find<LeaseGrant>(AskLease(kFirst, train), kFirst)->lease);
  Say(kLate, Join{.incarnation = 4, .job_uid = "job", .role = Role::kServer, .index = 1, .address = "127.0.0.1:2"});
  for (const ConnectionId worker : {kFirst, kSecond}) Say(worker, Leave{.header = NextHeader()});
  ASSERT_TRUE(out_.finished);
  const ShardMap map = core_->map();
  for (const ConnectionId server : {kServer, kLate}) {
    Say(server, Heartbeat{.number = 1, .map_version = map.version, .unreached = {}});
    Say(server, RowsReport{.number = 1, .map_version = map.version});
  }
  EXPECT_EQ(core_->map().shards, map.shards);
}

}  // namespace
}  // namespace attune::ps::coordinator_goal_test
