// What programs report of the model, the evaluations they are asked for, and a coordinator that follows another.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps::coordinator_metrics_test {
namespace {

using std::chrono::seconds;

class CoordinatorMetricsTest : public CoordinatedJob {
 protected:
  CoordinatorMetricsTest()
      : CoordinatedJob({.job_uid = "job",
                        .servers = 2,
                        .shards = 4,
                        .goal = {.early_stopping = EarlyStopping{"held_out", 2, 0, false}, .evaluate_every_epochs = 1},
                        .items = 20,
                        .lease_items = 10,
                        .liveness_lease = seconds(10),
                        .leader_lease = seconds(12),
                        .host_index = 0}) {
    train_ = Open("train", {});
    validate_ = Open("validate", {.when_due = true});
  }

  RequestHeader NextHeader() { return {.request = RequestId(++request_), .remaining = seconds(30)}; }
  DataSetId Open(const std::string& name, const DataSetOptions& options) {
    Say(kWorker, OpenDataSet{.header = NextHeader(), .name = name, .options = options});
    return Answer<DataSetOpened>()->data_set;
  }
  // What waits for the copy comes with its acknowledgment.
  template <typename Kind>
  std::optional<Kind> Answer() {
    for (int i = 0; i < 4; ++i) {
      if (const Kind* answer = Sent<Kind>(kWorker)) return *answer;
      Say(kServer1, MirrorAck{.number = record_.number});
    }
    return std::nullopt;
  }
  std::optional<LeaseGrant> Ask(DataSetId data_set) {
    Say(kWorker, LeaseRequest{.header = NextHeader(), .data_set = data_set});
    return Answer<LeaseGrant>();
  }
  // Nothing is due yet: the request stays open, as the worker's runtime keeps it.
  void AskAhead() {
    EXPECT_FALSE(Ask(validate_).has_value());
    EXPECT_FALSE(Sent<LeasesEnded>(kWorker));
  }
  void End(LeaseId lease) { Say(kWorker, LeaseDone{.header = NextHeader(), .lease = lease}); }
  // One epoch of training; what the worker that waits for an evaluation is handed then.
  std::optional<LeaseGrant> TrainAnEpoch() {
    for (int lease = 0; lease < 2; ++lease) {
      const auto grant = Ask(train_);
      if (!grant) return std::nullopt;
      End(grant->lease);
    }
    const auto due = Answer<LeaseGrant>();
    return due && due->data_set == validate_ ? due : std::nullopt;
  }
  void Report(std::optional<double> value) {
    Say(kWorker, ReportMetric{.header = NextHeader(), .name = "held_out", .value = value});
    EXPECT_TRUE(Answer<Done>().has_value());
  }

  // Another coordinator, from this copy of what the first one knew.
  void TakeOverWith(const CoordinatorRecord& record) {
    Follow();
    Step(FromOperator{.id = CommandId(1), .command = NodeGone{.role = Role::kServer, .index = 0, .pod = 10}});
    JoinAgain(kServer1);
    Say(kServer1, AnswerOf({}, record));
    JoinAgain(kWorker);
    Say(kWorker, AnswerOf());
    for (int i = 0; i < 100 && core_->progress().taking_over; ++i) {
      now_ += std::chrono::milliseconds(500);
      Step(CoordinatorTimer{});
      PromiseAgain();
      ConfirmWhenWanted();
    }
  }

  uint64_t request_ = 0;
  DataSetId train_, validate_;
};

TEST_F(CoordinatorMetricsTest, AnEvaluationIsHandedOutOncePerEpochAndOnlyThen) {
  AskAhead();
  const auto first = TrainAnEpoch();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->epoch, 0U);
  End(first->lease);
  AskAhead();
  const auto second = TrainAnEpoch();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->epoch, 1U);
}

// The worker cannot say that the answers behind it have arrived, and the coordinator keeps only so many.
TEST_F(CoordinatorMetricsTest, ARequestThatWaitsForLongStopsNoOtherRequests) {
  AskAhead();
  uint64_t waits = request_;  // the oldest request without an answer
  for (int i = 0; i < 10'000; ++i) {
    RequestHeader header = NextHeader();
    header.answered_below = RequestId(waits - 1);
    Say(kWorker, ReportMetric{.header = header, .name = "rate", .value = 1.0});
    ASSERT_TRUE(Answer<Done>().has_value()) << "after " << i;
    const Refused* const refused = Sent<Refused>(kWorker);
    if (refused == nullptr) continue;
    ASSERT_EQ(refused->request, RequestId(waits));
    ASSERT_EQ(refused->status.code(), StatusCode::kDeadlineExceeded) << "asked again";
    waits = request_ + 1;
    AskAhead();
  }
}

TEST_F(CoordinatorMetricsTest, AnEvaluationThatIsHandedBackIsDoneByTheNext) {
  AskAhead();
  const auto first = TrainAnEpoch();
  ASSERT_TRUE(first.has_value());
  Say(kWorker, LeaseReturn{.header = NextHeader(), .lease = first->lease, .position = 0});
  const auto again = Ask(validate_);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->epoch, first->epoch);
}

TEST_F(CoordinatorMetricsTest, WhatIsAskedForLateMakesUpForNothing) {
  AskAhead();
  const auto first = TrainAnEpoch();
  ASSERT_TRUE(first.has_value());
  End(first->lease);
  const DataSetId late = Open("late", {.when_due = true});
  EXPECT_FALSE(Ask(late).has_value()) << "the evaluation of the first epoch is over";
}

TEST_F(CoordinatorMetricsTest, ADataSetThatIsEvaluatedWhenDueHasNoEpochs) {
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "both", .options = {.epochs = 1, .when_due = true}});
  const auto refused = Answer<Refused>();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status.code(), StatusCode::kInvalidArgument);
}

TEST_F(CoordinatorMetricsTest, TheJobIsOverWhenAFigureHasStoppedImprovingAndSaysWhere) {
  AskAhead();
  for (const double value : {4.0, 3.0, 3.5, 3.25}) {
    EXPECT_EQ(core_->progress().goal_reached, "") << value;
    const auto due = TrainAnEpoch();
    ASSERT_TRUE(due.has_value()) << value;
    Report(value);
    End(due->lease);
    if (core_->progress().goal_reached.empty()) AskAhead();
  }
  EXPECT_EQ(core_->progress().goal_reached, "held_out no better for 2 reports at epoch 4 (best 3 at epoch 2)");
  Say(kWorker, LeaseRequest{.header = NextHeader(), .data_set = validate_});
  EXPECT_TRUE(Answer<LeasesEnded>().has_value()) << "nothing is due after the goal";
  const auto closing = Open("evaluate", {.items = 1, .epochs = 1});
  EXPECT_TRUE(Ask(closing).has_value()) << "the closing work does not wait for evaluations on the way";
}

TEST_F(CoordinatorMetricsTest, AReportThatComesTwiceCountsOnce) {
  const ReportMetric report{.header = NextHeader(), .name = "held_out", .value = 3};
  Say(kWorker, report);
  Say(kWorker, report);
  Mirror();
  Say(kWorker, report);
  ASSERT_EQ(core_->progress().metrics.size(), 1U);
  EXPECT_EQ(core_->progress().metrics[0].reports, 1U);
}

TEST_F(CoordinatorMetricsTest, AnotherCoordinatorGoesOnWithWhatWasReported) {
  AskAhead();
  for (const double value : {3.0, 3.5}) {
    const auto due = TrainAnEpoch();
    ASSERT_TRUE(due.has_value());
    Report(value);
    End(due->lease);
    Mirror();
    AskAhead();
  }
  Mirror();
  const std::vector<MetricState> before = core_->progress().metrics;
  const CoordinatorRecord record = record_;
  EXPECT_EQ(record.metrics, before);
  EXPECT_EQ(record.evaluations.due, 2U);
  TakeOverWith(record);
  ASSERT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().metrics, before);
  Say(kWorker, ReportMetric{.header = NextHeader(), .name = "held_out", .value = 4});
  EXPECT_EQ(core_->progress().goal_reached, "held_out no better for 2 reports at epoch 2 (best 3 at epoch 1)");
}

TEST_F(CoordinatorMetricsTest, AnotherCoordinatorKnowsTheBestCheckpointAndItsRule) {
  Mirror();
  CoordinatorRecord record = record_;
  record.goal.best_checkpoint = BestCheckpointRule{"held_out", false, "/c"};
  record.best = BestCheckpoint{
      .metric = "held_out", .maximize = false, .value = 3, .at = {.step = 9}, .directory = "/c", .checkpoint = 7};
  TakeOverWith(record);
  ASSERT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().best_checkpoint, record.best);
  ASSERT_TRUE(core_->LastRecord().has_value());
  EXPECT_EQ(core_->LastRecord()->best, record.best) << "and so does the one after it";
  EXPECT_EQ(core_->LastRecord()->goal.best_checkpoint, record.goal.best_checkpoint);
}

}  // namespace
}  // namespace attune::ps::coordinator_metrics_test
