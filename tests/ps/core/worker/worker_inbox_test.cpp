#include "ps/core/worker/worker_inbox.h"

#include <gtest/gtest.h>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::worker_inbox_test {
namespace {

using std::chrono::seconds;
using Turn = WorkerInbox::Turn;

class WorkerInboxTest : public testing::Test {
 protected:
  static Received Answer(MapVersion version, NodeId from = kFirstServer) {
    return {.from = from, .message = PushAck{.sequence = SequenceNumber(1), .map_version = version}};
  }
  static Received Operation() { return {.from = kOtherWorker, .message = Push{.sequence = SequenceNumber(1)}}; }

  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  WorkerInbox inbox_{cluster_, lease_};
  const MonotonicTime now_{seconds(100)};
};

TEST_F(WorkerInboxTest, WhatASenderMayNotSayIsRefusedAndCounted) {
  std::vector<RejectedMessage> rejected;
  EXPECT_FALSE(inbox_.Refuses({.from = kCoordinator, .message = SyncUpdate{}}, rejected));
  EXPECT_TRUE(inbox_.Refuses({.from = kFirstServer, .message = SyncUpdate{}}, rejected));
  EXPECT_EQ(rejected.size(), 1U);
  EXPECT_EQ(inbox_.refused(), 1U);
}

TEST_F(WorkerInboxTest, AnAnswerOfAMemberWaitsForTheMapItWasSentUnder) {
  EXPECT_EQ(inbox_.TurnOf(Answer(MapVersion(1, 1)), now_), Turn::kNow);
  EXPECT_EQ(inbox_.TurnOf(Answer(MapVersion(1, 1), NodeId(99)), now_), Turn::kNever);
  EXPECT_EQ(inbox_.TurnOf(Answer(MapVersion(1, 2), NodeId(99)), now_), Turn::kUnderNewerMap) << "it may be a member";
  inbox_.Keep(Answer(MapVersion(1, 2)), Turn::kUnderNewerMap);
  cluster_.Adopt(SmallMap(2));
  const std::vector<Received> held = inbox_.TakeUnderMap();
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(inbox_.TurnOf(held[0], now_), Turn::kNow);
  EXPECT_TRUE(inbox_.TakeUnderMap().empty());
}

TEST_F(WorkerInboxTest, NoMoreAnswersWaitThanThereIsRoomFor) {
  for (size_t i = 0; i <= kHeldMessagesMax; ++i) inbox_.Keep(Answer(MapVersion(1, 2)), Turn::kUnderNewerMap);
  EXPECT_EQ(inbox_.TakeUnderMap().size(), kHeldMessagesMax);
}

TEST_F(WorkerInboxTest, OperationsOfOthersWaitWhileTheLeaseHasRunOut) {
  lease_.Sent(1, now_ - seconds(60));
  lease_.Answered(1, seconds(10));
  EXPECT_EQ(inbox_.TurnOf(Operation(), now_), Turn::kUnderLease);
  inbox_.Keep(Operation(), Turn::kUnderLease);
  EXPECT_TRUE(inbox_.TakeUnderMap().empty());
  lease_.Sent(2, now_);
  lease_.Answered(2, seconds(10));
  EXPECT_EQ(inbox_.TurnOf(Operation(), now_), Turn::kNow);
  EXPECT_EQ(inbox_.TakeUnderLease().size(), 1U);
  cluster_.SetSelf(NodeId());
  EXPECT_EQ(inbox_.TurnOf(Operation(), now_), Turn::kNever) << "it is no member";
}

TEST_F(WorkerInboxTest, WhatIsNotAboutRowsIsTakenAtOnce) {
  EXPECT_EQ(inbox_.TurnOf({.from = kCoordinator, .message = MapUpdate{.map = SmallMap(9)}}, now_), Turn::kNow);
}

}  // namespace
}  // namespace attune::ps::worker_inbox_test
