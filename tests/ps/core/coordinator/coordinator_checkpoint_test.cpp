// A job that begins with a checkpoint, and checkpoints of a job, as the coordinator and its nodes speak about them.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps::coordinator_checkpoint_test {
namespace {

const RestorePoint kPoint{.directory = "/c", .checkpoint = 7, .clock = 40};
const TableSpec kSpec{.name = "t", .options = {.dim = 2}};

class CoordinatorCheckpointTest : public testing::Test {
 protected:
  void Start(const RestorePoint& load, const std::optional<CutRecord>& resume = std::nullopt) {
    CoordinatorOptions options{.job_uid = "job", .servers = 1, .shards = 4};
    options.load = load;
    options.resume = resume;
    options.goal.target_metric = TargetMetric{"held_out", 1, false};
    options.goal.best_checkpoint = BestCheckpointRule{"held_out", false, "/c"};
    core_.emplace(options);
    Join(kServer, Role::kServer, 0);
    Join(kWorker, Role::kWorker, 0);
    Report(kServer);
  }
  void Join(ConnectionId from, Role role, uint32_t index) {
    Say(from, ps::Join{.incarnation = from.value(),
                       .job_uid = "job",
                       .role = role,
                       .index = index,
                       .address = role == Role::kServer ? "127.0.0.1:1" : ""});
  }
  // The process of the worker that is a member already takes rows from now on.
  void JoinTakingRows() {
    Say(kWorker, ps::Join{.incarnation = kWorker.value(),
                          .job_uid = "job",
                          .role = Role::kWorker,
                          .index = 0,
                          .address = "127.0.0.1:2",
                          .takes_rows = true,
                          .node = NodeId(2)});
  }
  // Nothing is in progress at this server.
  void Report(ConnectionId server) {
    Say(server, RowsReport{.number = ++report_, .map_version = core_->map().version});
  }
  const std::vector<ToConnection>& Say(ConnectionId from, Message message) {
    return Step(FromConnection{from, std::move(message)});
  }
  const std::vector<ToConnection>& Step(CoordinatorInput input) {
    out_.Clear();
    core_->Step(std::move(input), now_, out_);
    return out_.send;
  }
  const std::vector<ToConnection>& After(Duration time) {
    now_ += time;
    return Step(CoordinatorTimer{});
  }
  void OpenTable() {
    Say(kWorker,
        ps::OpenTable{.header = {.request = RequestId(1), .remaining = std::chrono::seconds(10)}, .spec = kSpec});
  }
  template <typename Answer>
  std::optional<Answer> Said(ConnectionId to) const {
    for (const ToConnection& item : out_.send) {
      if (item.to != to) continue;
      if (const auto* answer = std::get_if<Answer>(&item.message)) return *answer;
    }
    return std::nullopt;
  }
  void TakeCheckpoint() { Step(FromOperator{.id = CommandId(1), .command = ps::TakeCheckpoint{.directory = "/c"}}); }

  void ReportHeldOut(double value) {
    Say(kWorker,
        ReportMetric{.header = {.request = RequestId(++metric_request_), .remaining = std::chrono::seconds(10)},
                     .name = "held_out",
                     .value = value});
  }
  // Everything that is to be done for the checkpoint that the last step has begun; its record.
  CutRecord Complete(uint64_t number) {
    if (!out_.begin_checkpoint) return {};
    const CutId cut = out_.begin_checkpoint->cut;
    Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = number, .base = 0});
    Say(kServer, MarkDone{.cut = cut});
    Say(kServer, SnapshotDone{.cut = cut, .status = OkStatus(), .files = {}});
    if (!out_.commit_checkpoint) return {};
    CutRecord record = out_.commit_checkpoint->record;
    Step(CheckpointCommitted{.cut = cut, .status = OkStatus()});
    return record;
  }
  uint64_t BestNumber() const {
    return core_->progress().best_checkpoint ? core_->progress().best_checkpoint->checkpoint : 0;
  }

  const ConnectionId kServer{1}, kWorker{2}, kLater{3};
  uint64_t metric_request_ = 100;
  std::optional<CoordinatorCore> core_;
  CoordinatorOutputs out_;
  MonotonicTime now_{std::chrono::seconds(1)};
  uint64_t report_ = 0;
};

TEST_F(CoordinatorCheckpointTest, ServersOfTheBeginLoadTheirRowsAndOpenersAreToldToWait) {
  Start(kPoint);
  OpenTable();
  ASSERT_TRUE(Said<InstallTable>(kServer));
  EXPECT_EQ(Said<InstallTable>(kServer)->load, kPoint);
  After(std::chrono::seconds(1));
  ASSERT_TRUE(Said<StillWorking>(kWorker));
  EXPECT_EQ(Said<StillWorking>(kWorker)->request, RequestId(1));
  Join(kLater, Role::kServer, 1);
  ASSERT_TRUE(Said<InstallTable>(kLater));
  EXPECT_EQ(Said<InstallTable>(kLater)->load, kPoint) << "it may be home of shards before the others have read theirs";
  EXPECT_EQ(Said<NewestCheckpoint>(kLater)->point, kPoint) << "should rows be lost";
  Say(kServer, TableInstalled{.table = TableId(1), .status = OkStatus()});
  Say(kLater, TableInstalled{.table = TableId(1), .status = OkStatus()});
  EXPECT_TRUE(Said<TableOpened>(kWorker));
  After(std::chrono::seconds(1));
  EXPECT_FALSE(Said<StillWorking>(kWorker));
}

TEST_F(CoordinatorCheckpointTest, OpenersOfATableThatIsNotLoadedAreNotToldToWait) {
  Start({});
  OpenTable();
  EXPECT_EQ(Said<InstallTable>(kServer)->load, RestorePoint());
  After(std::chrono::seconds(1));
  EXPECT_FALSE(Said<StillWorking>(kWorker));
}

TEST_F(CoordinatorCheckpointTest, NoCheckpointBeginsWhileATableIsLoaded) {
  Start(kPoint);
  OpenTable();
  TakeCheckpoint();
  EXPECT_FALSE(out_.begin_checkpoint);
  Say(kServer, TableInstalled{.table = TableId(1), .status = OkStatus()});
  EXPECT_TRUE(out_.begin_checkpoint);
}

TEST_F(CoordinatorCheckpointTest, NodesWriteWhenAllHaveMarkedAndAllServersHearOfTheNewest) {
  Start({});
  OpenTable();
  Say(kServer, TableInstalled{.table = TableId(1), .status = OkStatus()});
  TakeCheckpoint();
  ASSERT_TRUE(out_.begin_checkpoint);
  const CutId cut = out_.begin_checkpoint->cut;
  Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = 8, .base = 0});
  ASSERT_TRUE(Said<Mark>(kServer));
  EXPECT_EQ(Said<Mark>(kServer)->checkpoint, 8U);
  Say(kServer, MarkDone{.cut = cut});
  EXPECT_TRUE(Said<WriteSnapshot>(kServer));
  Say(kServer, SnapshotDone{.cut = cut, .status = OkStatus(), .files = {{.table = TableId(1), .name = "f"}}});
  ASSERT_TRUE(out_.commit_checkpoint);
  EXPECT_EQ(out_.commit_checkpoint->files.size(), 1U);
  Step(CheckpointCommitted{.cut = cut, .status = OkStatus()});
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_TRUE(out_.command_results[0].status.ok());
  EXPECT_TRUE(Said<CutEnded>(kServer));
  ASSERT_TRUE(Said<NewestCheckpoint>(kServer));
  EXPECT_EQ(Said<NewestCheckpoint>(kServer)->point.checkpoint, 8U);
}

// Those who have not copied yet hand it rows, which are missing in their copies then.
TEST_F(CoordinatorCheckpointTest, AWorkerThatBeginsToTakeRowsWhileOthersCopyTheirsTakesPart) {
  Start({});
  TakeCheckpoint();
  const CutId cut = out_.begin_checkpoint->cut;
  Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = 8, .base = 0});
  ASSERT_TRUE(Said<Mark>(kServer));
  JoinTakingRows();
  ASSERT_TRUE(Said<Mark>(kWorker));
  Join(kLater, Role::kWorker, 1);
  EXPECT_FALSE(Said<Mark>(kLater)) << "it has no rows and gets none";
  Say(kServer, MarkDone{.cut = cut});
  EXPECT_FALSE(Said<WriteSnapshot>(kServer)) << "rows may be on their way to the worker";
  Say(kWorker, MarkDone{.cut = cut});
  EXPECT_TRUE(Said<WriteSnapshot>(kServer));
  EXPECT_TRUE(Said<WriteSnapshot>(kWorker));
}

// Its rows come back to servers that have not heard yet that all have copied theirs.
TEST_F(CoordinatorCheckpointTest, AWorkerThatBeginsToTakeRowsWhenAllHaveCopiedTheirsHearsOfTheMarkWithTheMap) {
  Start({});
  TakeCheckpoint();
  const CutId cut = out_.begin_checkpoint->cut;
  Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = 8, .base = 0});
  EXPECT_EQ(core_->map().marked, CutId());
  Say(kServer, MarkDone{.cut = cut});
  JoinTakingRows();
  EXPECT_FALSE(Said<Mark>(kWorker));
  ASSERT_TRUE(Said<Welcome>(kWorker));
  EXPECT_EQ(Said<Welcome>(kWorker)->map.marked, cut);
}

TEST_F(CoordinatorCheckpointTest, AFailedPartEndsTheCheckpointAndNamesTheServer) {
  Start({});
  TakeCheckpoint();
  const CutId cut = out_.begin_checkpoint->cut;
  Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = 8, .base = 0});
  Say(kServer, MarkDone{.cut = cut});
  Say(kServer, SnapshotDone{.cut = cut, .status = Error(StatusCode::kResourceExhausted, "no room"), .files = {}});
  ASSERT_EQ(out_.command_results.size(), 1U);
  const std::string text(attune::Message(out_.command_results[0].status));
  EXPECT_NE(text.find("server 0"), std::string::npos) << text;
  EXPECT_NE(text.find("no room"), std::string::npos) << text;
  EXPECT_FALSE(Said<NewestCheckpoint>(kServer));
}

TEST_F(CoordinatorCheckpointTest, ABetterValueThanEverBeforeIsOneMoreReasonForACheckpoint) {
  Start({});
  ReportHeldOut(3.5);
  ASSERT_TRUE(out_.begin_checkpoint);
  EXPECT_EQ(out_.begin_checkpoint->directory, "/c");
  const CutRecord first = Complete(8);
  ASSERT_TRUE(first.best);
  EXPECT_EQ(first.best->value, 3.5);
  EXPECT_EQ(first.best->checkpoint, 8U);
  EXPECT_EQ(first.best->directory, "") << "wherever the directory is moved to";
  ASSERT_EQ(first.metrics.size(), 1U);
  EXPECT_EQ(first.metrics[0].best, 3.5);
  EXPECT_TRUE(Said<NewestCheckpoint>(kServer)) << "lost rows come from it like from any other";
  EXPECT_EQ(core_->progress().checkpoints, 1U);
  EXPECT_EQ(BestNumber(), 8U);
  EXPECT_EQ(core_->progress().best_checkpoint->directory, "/c");
  now_ += std::chrono::minutes(1);
  ReportHeldOut(3.75);
  EXPECT_FALSE(out_.begin_checkpoint);
  TakeCheckpoint();
  const CutRecord regular = Complete(9);
  ASSERT_TRUE(regular.best) << "it knows which one is the best";
  EXPECT_EQ(regular.best->checkpoint, 8U);
  EXPECT_EQ(BestNumber(), 8U);
  now_ += std::chrono::minutes(1);
  ReportHeldOut(3.25);
  Complete(10);
  EXPECT_EQ(BestNumber(), 10U);
}

TEST_F(CoordinatorCheckpointTest, AWorseValueBeforeTheRowsAreCopiedCallsTheBestCheckpointOff) {
  Start({});
  ReportHeldOut(3.5);
  Complete(8);
  now_ += std::chrono::minutes(1);
  ReportHeldOut(3.25);
  ASSERT_TRUE(out_.begin_checkpoint);
  const CutId cut = out_.begin_checkpoint->cut;
  ReportHeldOut(3.75);
  Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = 9, .base = 0});
  EXPECT_FALSE(Said<Mark>(kServer));
  EXPECT_EQ(BestNumber(), 8U);
  TakeCheckpoint();
  EXPECT_TRUE(out_.begin_checkpoint) << "others follow";
}

TEST_F(CoordinatorCheckpointTest, TheBestCheckpointAndItsBarComeBackWithTheOneAJobIsResumedFrom) {
  CutRecord cut{.synchronization = "async", .clock = 40, .steps = 40};
  cut.metrics = {{.name = "held_out", .reports = 4, .value = 3.5, .best = 3.0, .at = {}, .best_at = {}}};
  cut.best = BestCheckpoint{.metric = "held_out", .value = 3.0, .at = {.step = 30}, .directory = "/c", .checkpoint = 5};
  Start(kPoint, cut);
  EXPECT_EQ(BestNumber(), 5U);
  ASSERT_EQ(core_->progress().metrics.size(), 1U);
  EXPECT_EQ(core_->progress().metrics[0].best, 3.0);
  ReportHeldOut(3.25);
  EXPECT_FALSE(out_.begin_checkpoint);
  ReportHeldOut(2.75);
  EXPECT_TRUE(out_.begin_checkpoint);
}

// Mostly of the value that has reached it.
TEST_F(CoordinatorCheckpointTest, AJobIsNotFinishedBeforeItsBestCheckpointIs) {
  Start({});
  ReportHeldOut(0.5);
  ASSERT_NE(core_->progress().goal_reached, "");
  ASSERT_TRUE(out_.begin_checkpoint);
  const CheckpointOrder order = *out_.begin_checkpoint;
  Say(kWorker, Leave{.header = {.request = RequestId(200), .remaining = std::chrono::seconds(10)}, .steps = 0});
  EXPECT_FALSE(out_.finished);
  Report(kServer);  // under the map without the worker
  EXPECT_FALSE(out_.finished);
  out_.begin_checkpoint = order;
  const CutRecord record = Complete(8);
  EXPECT_TRUE(record.best.has_value());
  EXPECT_TRUE(out_.finished);
}

TEST_F(CoordinatorCheckpointTest, ABestCheckpointThatFailsDoesNotHoldTheEndUp) {
  Start({});
  ReportHeldOut(0.5);
  ASSERT_TRUE(out_.begin_checkpoint);
  const CutId cut = out_.begin_checkpoint->cut;
  Say(kWorker, Leave{.header = {.request = RequestId(200), .remaining = std::chrono::seconds(10)}, .steps = 0});
  EXPECT_FALSE(out_.finished);
  Step(CheckpointBegun{.cut = cut, .status = Error(StatusCode::kResourceExhausted, "no room"), .checkpoint = 0});
  EXPECT_TRUE(out_.finished);
  EXPECT_EQ(BestNumber(), 0U);
}

TEST_F(CoordinatorCheckpointTest, WhatAProgramSavesTakesTheSameWayAndSaysNothingOfData) {
  Start({});
  Say(kWorker,
      SaveTables{.header = {.request = RequestId(1), .remaining = std::chrono::seconds(10)}, .directory = "/m"});
  ASSERT_TRUE(out_.begin_checkpoint);
  const CutId cut = out_.begin_checkpoint->cut;
  Step(CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = 1, .base = 0});
  Say(kServer, MarkDone{.cut = cut});
  Say(kServer, SnapshotDone{.cut = cut, .status = OkStatus(), .files = {}});
  ASSERT_TRUE(out_.commit_checkpoint);
  EXPECT_EQ(out_.commit_checkpoint->record, CutRecord());
  Step(CheckpointCommitted{.cut = cut, .status = OkStatus()});
  ASSERT_TRUE(Said<Done>(kWorker));
  EXPECT_FALSE(Said<NewestCheckpoint>(kServer)) << "lost rows do not come from there";
}

}  // namespace
}  // namespace attune::ps::coordinator_checkpoint_test
