// A worker whose coordinator or servers are silent, or which was stopped itself.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ps/core/worker/worker_core.h"

namespace attune::ps::worker_silence_test {
namespace {

using std::chrono::seconds;

class WorkerSilenceTest : public testing::Test {
 protected:
  static constexpr NodeId kServer{1}, kOther{2}, kSelf{3};

  WorkerSilenceTest() : core_({.job_uid = "job", .incarnation = 7}) {
    ShardMap map;
    map.version = MapVersion(1, 0);
    map.shards = {{.home = kServer}};
    map.members = {{kServer, Role::kServer, 0, "127.0.0.1:1"},
                   {kOther, Role::kServer, 1, "127.0.0.9:2"},
                   {kSelf, Role::kWorker, 0, ""}};
    Step(PeerConnected{kCoordinator});
    Hear(Welcome{.node = kSelf, .map = map});
    Hear(TableOpened{.request = RequestId(1), .table = TableId(1)});
  }

  void Step(WorkerInput input) {
    out_.Clear();
    core_.Step(std::move(input), now_, out_);
    for (const Completion& completion : out_.completions) ended_.push_back(completion);
  }
  void Hear(Message message) { Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }
  void Wait(Duration time) {
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      now_ += std::chrono::milliseconds(250);
      Step(Timer{});
    }
  }
  void OpenTable(CallId call, Duration timeout) {
    Step(OpenTableCall{.call = call, .deadline = now_ + timeout, .spec = {"rows", {.dim = 1}}});
  }

  WorkerCore core_;
  WorkerOutputs out_;
  std::vector<Completion> ended_;
  MonotonicTime now_{seconds(1)};
};

TEST_F(WorkerSilenceTest, TheSessionOutlivesAnySilence) {
  Step(PeerDisconnected{kCoordinator});
  Wait(seconds(600));
  EXPECT_TRUE(core_.status().ok()) << core_.status();
  OpenTable(CallId(1), seconds(5));
  Wait(seconds(6));
  ASSERT_EQ(ended_.size(), 1U) << "a call ends by its own deadline";
  EXPECT_EQ(ended_[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(core_.status().ok());
  Step(PeerConnected{kCoordinator});
  ASSERT_FALSE(out_.send.empty());
  EXPECT_TRUE(std::holds_alternative<Join>(out_.send.front().message));
}

// The coordinator is lost before the job has formed: the job begins again, in its first mode.
TEST(WorkerOfAJobThatBeginsAnewTest, TakesTheModeOfTheCoordinatorThatAdmitsIt) {
  WorkerCore core({.job_uid = "job", .incarnation = 7});
  WorkerOutputs out;
  const MonotonicTime now{seconds(1)};
  const auto hear = [&](SyncState sync) {
    core.Step(PeerConnected{kCoordinator}, now, out);
    core.Step(Received{.from = kCoordinator, .message = Welcome{.node = NodeId(3), .map = {}, .sync = sync}, .term = 1},
              now, out);
    core.Step(PeerDisconnected{kCoordinator}, now, out);
  };
  hear(
      {.revision = (uint64_t{1} << 32) + 5, .mode = SyncMode::Ssp(3), .mode_before = SyncMode::Ssp(3), .mode_from = 1});
  ASSERT_EQ(core.steps().gate().ModeAt(2), SyncMode::Ssp(3));
  hear(
      {.revision = (uint64_t{1} << 32) + 1, .mode = SyncMode::Ssp(1), .mode_before = SyncMode::Ssp(1), .mode_from = 0});
  EXPECT_EQ(core.steps().gate().ModeAt(2), SyncMode::Ssp(1));
}

// What this process did not do while it stood still is no fault of the servers.
TEST_F(WorkerSilenceTest, CallsOfAStoppedProgramGetTheTimeTheyWouldHaveHad) {
  OpenTable(CallId(1), seconds(5));
  Wait(seconds(2));
  now_ += seconds(60);
  Step(Timer{});
  EXPECT_TRUE(ended_.empty());
  Wait(seconds(1));
  EXPECT_TRUE(ended_.empty());
  Wait(seconds(3));
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_[0].status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(WorkerSilenceTest, AStoppedProcessHasNoRightToActLeft) {
  Hear(HeartbeatAck{.number = 1, .sync = {}, .liveness = seconds(10)});
  EXPECT_TRUE(core_.heartbeats().MayAct(now_));
  EXPECT_EQ(core_.heartbeats().Silence(now_), Duration::zero());
  now_ += seconds(60);
  Step(Timer{});
  EXPECT_FALSE(core_.heartbeats().MayAct(now_)) << "others may have its items";
  EXPECT_GT(core_.heartbeats().Silence(now_), seconds(50));
  EXPECT_LT(core_.heartbeats().Silence(now_), seconds(60)) << "counted from when it might act last";
}

TEST_F(WorkerSilenceTest, TheWordOfAStrangerIsIgnored) {
  Step(Received{.from = NodeId(77), .message = CoordinatorAt{.term = 9, .host = kOther, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value());
  Step(Received{.from = kServer, .message = CoordinatorAt{.term = 4'000'000'000, .host = kOther, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value());
  EXPECT_EQ(core_.coordinator().notices_ignored(), 2U);
  Step(Received{.from = kServer, .message = CoordinatorAt{.term = 2, .host = kOther, .port = 7400}});
  ASSERT_TRUE(out_.coordinator.has_value());
  EXPECT_EQ(out_.coordinator->address, "127.0.0.9:7400");
}

// It was cut off from the coordinator that published the map with that server, and that one is gone.
TEST_F(WorkerSilenceTest, FindsACoordinatorWhoseServerJoinedWithAMapThatNeverCame) {
  constexpr NodeId kLater{9};
  Step(Received{.from = kServer, .message = CoordinatorAt{.term = 2, .host = kLater, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value()) << "no process knows its address";
  const std::string address = "127.0.0.8:7000";
  Step(Received{.from = kLater, .message = CoordinatorAt{.term = 2, .host = kLater, .port = 7400, .address = address}});
  EXPECT_FALSE(out_.coordinator.has_value()) << "it may be anybody";
  Step(
      Received{.from = kServer, .message = CoordinatorAt{.term = 2, .host = kLater, .port = 7400, .address = address}});
  ASSERT_TRUE(out_.coordinator.has_value());
  EXPECT_EQ(out_.coordinator->address, "127.0.0.8:7400");
}

}  // namespace
}  // namespace attune::ps::worker_silence_test
