#include "ps/core/worker/worker_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::worker_calls_test {
namespace {

using std::chrono::seconds;

constexpr TableId kTable{1};
constexpr DataSetId kDataSet{1};
constexpr LeaseId kLease{4};

class WorkerCallsTest : public testing::Test {
 protected:
  WorkerCallsTest() { cluster_.SetConnected(kCoordinator); }

  // What has been sent to the coordinator since the last call.
  std::vector<Message> Sent() {
    std::vector<Message> sent;
    for (Outgoing& outgoing : out_.send) {
      if (outgoing.to == kCoordinator) sent.push_back(std::move(outgoing.message));
    }
    out_.send.clear();
    return sent;
  }
  template <typename Kind>
  std::vector<Kind> SentOf() {
    std::vector<Kind> sent;
    for (Message& message : Sent()) {
      if (auto* body = std::get_if<Kind>(&message)) sent.push_back(std::move(*body));
    }
    return sent;
  }
  std::vector<Completion> Ended() { return std::exchange(out_.completions, {}); }
  void EndOverdue() {
    calls_.EndOverdue(
        now_, [](CallId, bool step) { return std::string(step ? "a step" : "an answer"); }, out_);
  }
  // Opens table 1 of rows of one value, and grants the lease of items 0 to 10.
  void OpenTable() {
    calls_.On(OpenTableCall{.call = CallId(100), .deadline = kNever, .spec = {"rows", {.dim = 1}}}, now_, out_);
    calls_.OnMessage(TableOpened{.request = LastRequest(), .table = kTable}, now_, out_);
    Ended();
  }
  void GrantLease() {
    calls_.On(LeaseCall{.call = CallId(101), .deadline = kNever, .data_set = kDataSet}, now_, out_);
    calls_.OnMessage(LeaseGrant{.request = LastRequest(), .lease = kLease, .data_set = kDataSet, .begin = 0, .end = 10},
                     now_, out_);
    Ended();
  }
  // The number of the request that has just been sent.
  RequestId LastRequest() { return HeaderOf(Sent().back())->request; }
  void Push() {
    rows_.On(PushCall{.call = CallId(++pushes_ + 1000),
                      .deadline = kNever,
                      .table = kTable,
                      .keys = std::vector<Key>{KeyAt(kFirstServer)},
                      .gradients = std::vector<float>{1}},
             {}, now_, out_);
  }
  void SettlePush() {
    const Positions all{.first = 0, .count = 1, .list = {}};
    ASSERT_TRUE(rows_.OnMessage(
        kFirstServer, PushAck{.sequence = SequenceNumber(pushes_), .map_version = {}, .positions = all}, now_, out_));
    Ended();
    Sent();
    calls_.OnPushesSettled(now_, out_);
    calls_.LeaveWhenSettled(now_, out_);
  }

  const WorkerOptions options_;
  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  WorkerRows rows_{options_, cluster_, lease_};
  WorkerSteps steps_{{}, {}};
  WorkerEnding ending_;
  WorkerCalls calls_{options_, cluster_, rows_, steps_, ending_};
  WorkerOutputs out_;
  uint64_t pushes_ = 0;
  MonotonicTime now_{seconds(100)};
};

TEST_F(WorkerCallsTest, ACallEndsWithItsAnswerOnce) {
  calls_.On(SaveCall{.call = CallId(1), .deadline = now_ + seconds(5), .directory = "models"}, now_, out_);
  const RequestId request = LastRequest();
  calls_.OnMessage(TableOpened{.request = request}, now_, out_);
  EXPECT_TRUE(Ended().empty()) << "no answer to this kind of request";
  calls_.OnMessage(Done{.request = request}, now_, out_);
  calls_.OnMessage(Done{.request = request}, now_, out_);
  const auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].call, CallId(1));
  EXPECT_TRUE(ended[0].status.ok());
}

TEST_F(WorkerCallsTest, ARefusalSaysWhatWasRefused) {
  calls_.On(SaveCall{.call = CallId(1), .deadline = now_ + seconds(5), .directory = "models"}, now_, out_);
  calls_.OnMessage(Refused{.request = LastRequest(), .status = Error(StatusCode::kInternal, "disk full")}, now_, out_);
  const auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_NE(attune::Message(ended[0].status).find("saving tables to models"), std::string::npos) << ended[0].status;
}

TEST_F(WorkerCallsTest, ARequestIsSentAgainAtLongerAndLongerIntervals) {
  calls_.On(SaveCall{.call = CallId(1), .deadline = kNever, .directory = "models"}, now_, out_);
  ASSERT_EQ(Sent().size(), 1U);
  const auto sent_after = [&](Duration time) {
    now_ += time;
    EndOverdue();
    calls_.SendAgain(now_, out_);
    return Sent().size();
  };
  EXPECT_EQ(sent_after(seconds(1)), 0U);
  EXPECT_EQ(calls_.WakeAt(), now_ + seconds(1));
  EXPECT_EQ(sent_after(seconds(1)), 1U);
  EXPECT_EQ(calls_.WakeAt(), now_ + seconds(4));
  EXPECT_EQ(sent_after(seconds(2)), 0U);
  EXPECT_EQ(sent_after(seconds(2)), 1U);
  calls_.SendAll(now_, out_);
  EXPECT_EQ(Sent().size(), 1U) << "another coordinator gets what is open";
}

TEST_F(WorkerCallsTest, ACallThatTheCoordinatorWorksOnGetsItsTimeAgain) {
  calls_.On(OpenTableCall{.call = CallId(1), .deadline = now_ + seconds(5), .spec = {"rows", {.dim = 1}}}, now_, out_);
  const RequestId request = LastRequest();
  now_ += seconds(4);
  calls_.OnMessage(StillWorking{.request = request}, now_, out_);
  now_ += seconds(4);
  EndOverdue();
  EXPECT_TRUE(Ended().empty());
  now_ += seconds(1);
  EndOverdue();
  const auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(attune::Message(ended[0].status), "opening table \"rows\": an answer");
}

TEST_F(WorkerCallsTest, ALeaseThatNoCallWaitsForGoesBack) {
  calls_.On(LeaseCall{.call = CallId(1), .deadline = now_ + seconds(5), .data_set = kDataSet}, now_, out_);
  const RequestId request = LastRequest();
  now_ += seconds(5);
  EndOverdue();
  ASSERT_EQ(Ended().size(), 1U);
  calls_.OnMessage(LeaseGrant{.request = request, .lease = kLease, .begin = 30, .end = 40}, now_, out_);
  const auto returned = SentOf<LeaseReturn>();
  ASSERT_EQ(returned.size(), 1U);
  EXPECT_EQ(returned[0].lease, kLease);
  EXPECT_EQ(returned[0].position, 30U);
}

TEST_F(WorkerCallsTest, AFlushEndsWhenThePushesBeforeItAreSettled) {
  OpenTable();
  calls_.On(FlushCall{.call = CallId(1), .deadline = kNever}, now_, out_);
  EXPECT_EQ(Ended().size(), 1U) << "nothing is open";
  Push();
  calls_.On(FlushCall{.call = CallId(2), .deadline = kNever}, now_, out_);
  calls_.OnPushesSettled(now_, out_);
  EXPECT_TRUE(Ended().empty());
  SettlePush();
  const auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].call, CallId(2));
}

TEST_F(WorkerCallsTest, AHeartbeatNamesALeaseUntilItsEndIsConfirmed) {
  OpenTable();
  GrantLease();
  calls_.On(EndLease{.lease = kLease, .position = 10}, now_, out_);
  const RequestId request = LastRequest();
  const auto leases = [&] {
    Heartbeat heartbeat;
    calls_.DescribeIn(heartbeat);
    return heartbeat.leases;
  };
  ASSERT_EQ(leases().size(), 1U);
  EXPECT_EQ(leases()[0].lease, kLease);
  EXPECT_EQ(leases()[0].position, UINT64_MAX);
  calls_.OnMessage(Done{.request = request}, now_, out_);
  EXPECT_TRUE(leases().empty());
}

TEST_F(WorkerCallsTest, OfOneMetricTheNewestWaitsForTheAnswer) {
  const auto report = [&](double value) {
    calls_.On(ReportMetricCall{.name = "accuracy", .value = value}, now_, out_);
  };
  report(0.1);
  const RequestId request = LastRequest();
  report(0.2);
  report(0.3);
  EXPECT_TRUE(Sent().empty());
  calls_.OnMessage(Done{.request = request}, now_, out_);
  const auto sent = SentOf<ReportMetric>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].value, 0.3);
}

TEST_F(WorkerCallsTest, CallsThatWaitForAStepEndTogether) {
  calls_.OpenStep(CallId(1), now_ + seconds(5), "beginning step 1");
  calls_.OpenStep(CallId(2), now_ + seconds(9), "beginning step 1");
  now_ += seconds(5);
  EndOverdue();
  auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(attune::Message(ended[0].status), "beginning step 1: a step");
  EXPECT_TRUE(calls_.waits_for_step());
  calls_.EndSteps(out_);
  ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].call, CallId(2));
  EXPECT_FALSE(calls_.waits_for_step());
}

TEST_F(WorkerCallsTest, AWorkerLeavesWhenPushesAndLeasesAreOver) {
  OpenTable();
  GrantLease();
  Push();
  calls_.On(AdvanceLease{.lease = kLease, .position = 6}, now_, out_);
  Sent();
  calls_.On(LeaveCall{.call = CallId(1), .deadline = kNever, .drained = true}, now_, out_);
  EXPECT_TRUE(ending_.leaving());
  EXPECT_TRUE(Sent().empty()) << "a push is open";
  SettlePush();
  std::vector<Message> sent = Sent();
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<LeaseReturn>(sent[0]));
  EXPECT_EQ(std::get<LeaseReturn>(sent[0]).position, 6U);
  calls_.OnMessage(Done{.request = HeaderOf(sent[0])->request}, now_, out_);
  sent = Sent();
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<Leave>(sent[0]));
  EXPECT_TRUE(std::get<Leave>(sent[0]).drained);
  EXPECT_FALSE(ending_.left());
  calls_.OnMessage(Done{.request = HeaderOf(sent[0])->request}, now_, out_);
  EXPECT_TRUE(ending_.left());
  EXPECT_EQ(Ended().size(), 1U);
}

TEST_F(WorkerCallsTest, ALostSessionEndsEveryCall) {
  calls_.On(SaveCall{.call = CallId(1), .deadline = kNever, .directory = "models"}, now_, out_);
  calls_.OpenStep(CallId(2), kNever, "beginning step 1");
  calls_.EndAll(Error(StatusCode::kAborted, "lost"), out_);
  EXPECT_EQ(Ended().size(), 2U);
  EXPECT_FALSE(calls_.waits_for_step());
}

}  // namespace
}  // namespace attune::ps::worker_calls_test
