#include "ps/core/membership/members/gone_members.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ps/core/protocol/incarnation.h"
#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps::gone_members_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr MonotonicTime kStart{seconds(1)};
const Status kLost = Error(StatusCode::kAborted, "it was silent");

TEST(GoneMembersTest, KnowsWhyByNodeAndByProcess) {
  GoneMembers gone;
  gone.Add(NodeId(3), 30, kLost, kStart);
  gone.Add(NodeId(4), 0, OkStatus(), kStart);
  gone.Add(NodeId(3), 31, OkStatus(), kStart);
  ASSERT_NE(gone.Find(NodeId(3)), nullptr);
  EXPECT_EQ(gone.Find(NodeId(3))->why, kLost) << "what was known first stays";
  EXPECT_EQ(gone.NodeOf(30), NodeId(3));
  EXPECT_EQ(gone.NodeOf(31), NodeId());
  ASSERT_NE(gone.Find(NodeId(4)), nullptr);
  EXPECT_TRUE(gone.Find(NodeId(4))->why.ok());
  EXPECT_EQ(gone.NodeOf(0), NodeId()) << "an incarnation that is not known names no process";
  EXPECT_EQ(gone.size(), 2U);
}

TEST(GoneMembersTest, NamesThePodsOfTheLostTheLastOneFirst) {
  GoneMembers gone;
  gone.Add(NodeId(1), NewIncarnation(71, 1), kLost, kStart);
  gone.Add(NodeId(2), NewIncarnation(72, 2), OkStatus(), kStart);
  gone.Add(NodeId(3), NewIncarnation(0, 3), kLost, kStart);  // started by hand
  gone.Add(NodeId(4), NewIncarnation(74, 4), kLost, kStart);
  EXPECT_EQ(gone.LostPods(8), (std::vector<uint32_t>{74, 71}));
  EXPECT_EQ(gone.LostPods(1), (std::vector<uint32_t>{74}));
  gone.Expire(kStart + hours(25));
  EXPECT_TRUE(gone.LostPods(8).empty());
}

TEST(GoneMembersTest, BeyondItsBoundTheOldestThatLeftCleanlyAreForgottenFirst) {
  GoneMembers gone({.kept_max = 3});
  gone.Add(NodeId(1), 10, kLost, kStart);
  gone.Add(NodeId(2), 20, OkStatus(), kStart);
  gone.Add(NodeId(3), 30, OkStatus(), kStart);
  gone.Add(NodeId(4), 40, kLost, kStart);
  EXPECT_EQ(gone.Find(NodeId(2)), nullptr);
  EXPECT_EQ(gone.NodeOf(20), NodeId());
  EXPECT_NE(gone.Find(NodeId(3)), nullptr);
  gone.Add(NodeId(5), 50, kLost, kStart);
  gone.Add(NodeId(6), 60, kLost, kStart);
  EXPECT_EQ(gone.Find(NodeId(3)), nullptr);
  EXPECT_EQ(gone.Find(NodeId(1)), nullptr) << "only lost ones are left: the oldest of them goes";
  EXPECT_NE(gone.Find(NodeId(4)), nullptr);
  EXPECT_EQ(gone.size(), 3U);
}

TEST(GoneMembersTest, ForgetsWithAge) {
  GoneMembers gone({.left_kept = hours(1), .lost_kept = hours(24)});
  gone.Add(NodeId(1), 10, kLost, kStart);
  gone.Add(NodeId(2), 20, OkStatus(), kStart);
  gone.Add(NodeId(3), 30, OkStatus(), kStart + minutes(1));
  gone.Expire(kStart + hours(1));
  EXPECT_EQ(gone.Find(NodeId(2)), nullptr);
  EXPECT_NE(gone.Find(NodeId(3)), nullptr);
  EXPECT_NE(gone.Find(NodeId(1)), nullptr);
  gone.Expire(kStart + hours(24));
  EXPECT_EQ(gone.size(), 0U);
  EXPECT_EQ(gone.NodeOf(10), NodeId());
}

// At the coordinator.
class ForgottenMembersTest : public CoordinatedJob {
 protected:
  ForgottenMembersTest() : CoordinatedJob({.job_uid = "job", .servers = 2, .shards = 4, .host_index = 0}) {}

  bool Closed(ConnectionId connection) const { return std::ranges::find(out_.close, connection) != out_.close.end(); }
  void WorkerLeaves() { Say(kWorker, Leave{.header = {.request = RequestId(1), .remaining = seconds(30)}}); }
};

TEST_F(ForgottenMembersTest, AWorkerThatLeftIsAnsweredUntilItIsForgotten) {
  WorkerLeaves();
  now_ += minutes(30);
  Step(CoordinatorTimer{});
  EXPECT_FALSE(Closed(kWorker));
  WorkerLeaves();  // the answer was lost
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  now_ += minutes(31);
  Step(CoordinatorTimer{});
  EXPECT_TRUE(Closed(kWorker)) << "nothing of it is kept, not even its connection";
  constexpr ConnectionId kAgain{9};
  Say(kAgain, JoinOf(Role::kWorker, 0, nodes_.at(kWorker), 1));
  ASSERT_NE(Sent<JoinRefused>(kAgain), nullptr);
  EXPECT_EQ(Sent<JoinRefused>(kAgain)->status.code(), StatusCode::kAborted);
}

TEST_F(ForgottenMembersTest, AnUnknownProcessCannotTakeTheNumberOfAMember) {
  Mirror();
  Follow();
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 0}});
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf({}, record_));
  ConfirmWhenWanted();
  JoinAgain(kWorker);
  Say(kWorker, AnswerOf());
  ASSERT_FALSE(core_->progress().taking_over);
  constexpr ConnectionId kOther{9};
  Say(kOther, JoinOf(Role::kWorker, 7, nodes_.at(kWorker), 2));
  EXPECT_NE(Sent<JoinRefused>(kOther), nullptr);
  Say(kOther, Leave{.header = {.request = RequestId(1), .remaining = seconds(30)}});
  EXPECT_EQ(core_->progress().workers, 1U);
}

}  // namespace
}  // namespace attune::ps::gone_members_test
