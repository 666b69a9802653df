// Figures of the model on their way from a program to the coordinator, and leases of evaluations.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "ps/core/worker/worker_core.h"

namespace attune::ps::worker_metrics_test {
namespace {

using std::chrono::seconds;

class WorkerMetricsTest : public testing::Test {
 protected:
  static constexpr NodeId kServer{1}, kSelf{2};

  WorkerMetricsTest() : core_({.job_uid = "job", .incarnation = 7}) {
    Step(PeerConnected{kCoordinator});
    ShardMap map;
    map.version = MapVersion(1, 0);
    map.shards = {{.home = kServer}};
    map.members = {{kServer, Role::kServer, 0, "127.0.0.1:1"}, {kSelf, Role::kWorker, 0, ""}};
    Hear(Welcome{.node = kSelf, .map = map});
  }

  void Step(WorkerInput input) {
    out_.Clear();
    core_.Step(std::move(input), now_, out_);
    for (const Outgoing& sent : out_.send) {
      if (const auto* report = std::get_if<ReportMetric>(&sent.message)) reports_.push_back(*report);
      if (std::holds_alternative<Leave>(sent.message)) left_ = true;
    }
  }
  void Hear(Message message) { Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }
  void Report(const std::string& name, std::optional<double> value) {
    Step(ReportMetricCall{.name = name, .value = value});
  }
  void Confirm(const ReportMetric& report) { Hear(Done{.request = report.header.request}); }

  WorkerCore core_;
  WorkerOutputs out_;
  std::vector<ReportMetric> reports_;  // as sent
  bool left_ = false;
  MonotonicTime now_{seconds(1)};
};

TEST_F(WorkerMetricsTest, WhileOneIsOnItsWayTheNewestOfItsNameWaits) {
  Report("loss", 3);
  Report("recall", 0.5);
  Report("loss", 2);
  Report("loss", 1);
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_EQ(reports_[0].value, 3);
  EXPECT_EQ(reports_[1].name, "recall");
  Confirm(reports_[0]);
  ASSERT_EQ(reports_.size(), 3U);
  EXPECT_EQ(reports_[2].value, 1) << "2 has been overtaken";
  Confirm(reports_[2]);
  Report("loss", std::nullopt);
  ASSERT_EQ(reports_.size(), 4U);
  EXPECT_FALSE(reports_[3].value.has_value());
}

TEST_F(WorkerMetricsTest, OneThatIsRefusedDoesNotHoldUpTheNext) {
  Report("loss", 3);
  Report("loss", 2);
  Hear(Refused{.request = reports_[0].header.request, .status = Error(StatusCode::kResourceExhausted, "too many")});
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_EQ(reports_[1].value, 2);
}

TEST_F(WorkerMetricsTest, ItComesAgainAfterABrokenConnection) {
  Report("loss", 3);
  Step(PeerDisconnected{kCoordinator});
  Step(PeerConnected{kCoordinator});
  Hear(Welcome{.node = kSelf, .map = core_.map()});
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_EQ(reports_[1].header.request, reports_[0].header.request);
}

TEST_F(WorkerMetricsTest, AWorkerLeavesWhenItsFiguresHaveArrived) {
  Report("loss", 3);
  Report("loss", 2);
  Step(LeaveCall{.call = CallId(1), .deadline = now_ + seconds(30)});
  EXPECT_FALSE(left_);
  Confirm(reports_[0]);
  EXPECT_FALSE(left_) << "one waited behind it";
  Confirm(reports_.back());
  EXPECT_TRUE(left_);
}

// The coordinator counts a worker in the floor by its leases of training; one of an evaluation is none.
TEST_F(WorkerMetricsTest, AWorkerWithAnEvaluationInHandBeginsToTrainWhereTheOthersStand) {
  const auto open = [&](uint32_t id, bool when_due) {
    Step(OpenDataSetCall{.call = CallId(id), .deadline = now_ + seconds(30), .name = "d", .options = {}});
    const RequestId request = std::get<OpenDataSet>(out_.send.back().message).header.request;
    Hear(DataSetOpened{.request = request, .data_set = DataSetId(id), .options = {.when_due = when_due}});
  };
  const auto lease = [&](uint32_t data_set, uint64_t floor) {
    Step(LeaseCall{.call = CallId(10 + data_set), .deadline = now_ + seconds(30), .data_set = DataSetId(data_set)});
    const RequestId request = std::get<LeaseRequest>(out_.send.back().message).header.request;
    Hear(LeaseGrant{.request = request,
                    .lease = LeaseId(data_set),
                    .data_set = DataSetId(data_set),
                    .begin = 0,
                    .end = 1,
                    .floor = floor});
  };
  open(1, false);
  open(2, true);
  lease(2, 3);
  lease(1, 40);
  EXPECT_EQ(core_.steps().gate().clock(), 40U);
}

}  // namespace
}  // namespace attune::ps::worker_metrics_test
