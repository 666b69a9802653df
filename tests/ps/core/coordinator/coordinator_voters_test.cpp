// Who decides which coordinator leads: votes, the lease of the one before, and the operator's confirmation.
#include <gtest/gtest.h>

#include <vector>

#include "tests/ps/core/coordinator/followed_job.h"

namespace attune::ps::coordinator_voters_test {
namespace {

using std::chrono::seconds;

class CoordinatorVotersTest : public FollowedJob {};

// Of two servers each is one half: only the operator can say which of them continues.
TEST_F(CoordinatorVotersTest, AnOldOneThatMayBeAliveIsWaitedFor) {
  Mirror();
  Follow();
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf({}, record_));
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  for (int i = 0; i < 20; ++i) Wait(seconds(5));
  EXPECT_TRUE(core_->progress().taking_over) << "server 0 may still lead";
  JoinAgain(kServer0);
  Say(kServer0, WorkersAnswer({}));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(map_.recovered_at, MapVersion()) << "no member was lost";
}

TEST_F(CoordinatorVotersTest, ASilentOneIsFollowedOnceItsLeaseHasEndedAndTheOperatorConfirms) {
  Mirror();
  for (Shard& shard : map_.shards) {  // every row has its copy
    shard.backup = shard.home == nodes_.at(kServer0) ? nodes_.at(kServer1) : nodes_.at(kServer0);
  }
  Follow();
  JoinAgain(kServer1);
  Promised answer = AnswerOf({}, record_);
  answer.supported_term = 1;
  answer.support_left = seconds(4);
  Say(kServer1, answer);
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  EXPECT_TRUE(core_->progress().lease.wanted.empty()) << "server 1 may still count for the old one";
  promised_.at(kServer1).support_left = {};
  for (int i = 0; i < 9; ++i) {  // no member says anything
    now_ += std::chrono::milliseconds(500);
    Step(CoordinatorTimer{});
  }
  Say(kServer1, Promised(promised_.at(kServer1)));
  EXPECT_TRUE(core_->progress().taking_over);
  ConfirmWhenWanted();
  EXPECT_FALSE(core_->progress().taking_over) << "its server is not waited for, since all rows have their copies";
  EXPECT_EQ(core_->progress().servers, 1U);
  EXPECT_EQ(map_.recovered_at, MapVersion(2, 1));
}

// An orderly change. The one before was leading for no moment, so nothing else is to be waited for.
class OldServerWhoseConnectionBreaksTest : public CoordinatorVotersTest {
 protected:
  OldServerWhoseConnectionBreaksTest() {
    Mirror();
    for (Shard& shard : map_.shards) {  // every row has its copy
      shard.backup = shard.home == nodes_.at(kServer0) ? nodes_.at(kServer1) : nodes_.at(kServer0);
    }
    Follow();
  }
  void OthersAnswer() {
    JoinAgain(kServer1);
    Say(kServer1, AnswerOf({}, record_));
    JoinAgain(kWorker);
    Say(kWorker, WorkersAnswer({}));
    ConfirmWhenWanted();
  }
};

TEST_F(OldServerWhoseConnectionBreaksTest, ItHasTheTimeToCome) {
  OthersAnswer();
  Wait(seconds(3));
  ASSERT_TRUE(core_->progress().taking_over);
  JoinAgain(kServer0);
  Say(kServer0, WorkersAnswer({}));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().servers, 2U);
}

TEST_F(OldServerWhoseConnectionBreaksTest, OneThatHasBeenHereIsWaitedForLikeOthers) {
  JoinAgain(kServer0);
  Step(ConnectionClosed{kServer0});
  OthersAnswer();
  Wait(seconds(9));
  EXPECT_TRUE(core_->progress().taking_over);
  Wait(seconds(2));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().servers, 1U);
}

TEST_F(CoordinatorVotersTest, AMapNamesTheVotersThatAMajorityHasYetToLeaveBehind) {
  const ConnectionId server2{4};
  Say(server2, JoinOf(Role::kServer, 2));
  Say(server2, Heartbeat{.number = ++heartbeat_, .map_version = map_.version});
  Step(CoordinatorTimer{});
  Wait(seconds(1));
  ASSERT_EQ(map_.voters.size(), 2U) << "servers 0 and 1 do not know of the third one yet";
  EXPECT_EQ(map_.voters[0].nodes.size(), 2U);
  EXPECT_EQ(map_.voters[1].nodes.size(), 3U);
  Live({kServer0, kServer1, server2});
  Wait(seconds(1));
  EXPECT_EQ(map_.voters.size(), 1U);
}

// The operator may record that late, when server 2 is released: it could not be proven then that its process has ended.
TEST_F(CoordinatorVotersTest, ItAsksToGoOnWithServersThatKeepTheirVotesOnly) {
  constexpr ConnectionId kServer2{4};
  Say(kServer2, JoinOf(Role::kServer, 2));
  for (int i = 0; i < 3; ++i) {
    Live({kServer0, kServer1, kServer2});
    Wait(seconds(1));
  }
  ASSERT_TRUE(Votes(nodes_.at(kServer2)));
  Step(FromOperator{.id = CommandId(1), .command = SetServers{2}});
  ASSERT_FALSE(Votes(nodes_.at(kServer2)));
  for (int i = 0; i < 8; ++i) {  // server 1 is silent
    Live({kServer0, kServer2});
    Wait(seconds(1));
  }
  const auto lease = core_->progress().lease;
  EXPECT_EQ(lease.wanted, std::vector<uint32_t>{nodes_.at(kServer0).value()});
  EXPECT_EQ(lease.map_version, map_.version);
}

// Server 2 (node 9) was declared lost in the map that server 1 knows; whether server 0 knew it cannot be known.
class VotersOfTheMapBeforeTest : public CoordinatorVotersTest {
 protected:
  VotersOfTheMapBeforeTest() {
    Mirror();
    const NodeId server0 = nodes_.at(kServer0), server1 = nodes_.at(kServer1), server2(9);
    map_.voters = {{MapVersion(1, 0), {server0, server1, server2}}, {map_.version, {server0, server1}}};
    map_.former_voters = {{.node = server2, .role = Role::kServer, .index = 2, .incarnation = NewIncarnation(12, 1)}};
    Appoint({{Role::kServer, 0, 10}});
    JoinAgain(kWorker);
    Say(kWorker, WorkersAnswer({}));
  }
  // Appoint without the operator's confirmation.
  void Appoint(const std::vector<NodeGone>& gone) {
    Follow();
    for (const NodeGone& node : gone) Step(FromOperator{.id = CommandId(++command_), .command = node});
    JoinAgain(kServer1);
    Say(kServer1, AnswerOf({}, record_));
  }
};

TEST_F(VotersOfTheMapBeforeTest, ASuccessorNeedsThoseToo) {
  EXPECT_TRUE(core_->progress().taking_over) << "servers 0 and 2 may have gone on with the map before";
  EXPECT_FALSE(core_->progress().lease.wanted.empty());
  ConfirmWhenWanted();
  EXPECT_FALSE(core_->progress().taking_over);
}

TEST_F(VotersOfTheMapBeforeTest, TheirProcessesCanBeProvenGone) {
  Step(FromOperator{.id = CommandId(++command_), .command = NodeGone{Role::kServer, 2, 99}});
  EXPECT_TRUE(core_->progress().taking_over) << "another process of that index";
  Step(FromOperator{.id = CommandId(++command_), .command = NodeGone{Role::kServer, 2, 12}});
  Wait(seconds(13));  // its last answers count no more
  EXPECT_FALSE(core_->progress().taking_over);
}

TEST_F(CoordinatorVotersTest, OneThatHearsNoOtherServerGivesNobodyTime) {
  for (int i = 0; i < 12; ++i) {
    Wait(seconds(1));
    Live({kServer0, kWorker});
  }
  Step(CoordinatorTimer{});
  Say(kWorker, Heartbeat{.number = ++heartbeat_});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_EQ(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
  EXPECT_EQ(core_->progress().servers, 2U) << "server 1 may obey another coordinator";
  Live({kServer0, kServer1});
  Live({kServer0, kServer1});
  Say(kWorker, Heartbeat{.number = ++heartbeat_});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_GT(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
}

// The word is said once, to the coordinator of that time. Should that one be lost before it has a majority again, its
// successor would wait for the dead.
TEST_F(CoordinatorVotersTest, AServerThatIsProvenGoneHasNoVoteInLaterMapsThoughItCannotBeDeclaredLost) {
  const NodeId gone = nodes_.at(kServer1);
  ASSERT_TRUE(Votes(gone));
  Step(ConnectionClosed{kServer1});
  now_ += std::chrono::seconds(30);
  Step(CoordinatorTimer{});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 1, 11}});
  ASSERT_TRUE(map_.Contains(gone)) << "without the leader lease no member is declared lost";
  EXPECT_FALSE(Votes(gone));
  EXPECT_TRUE(Votes(nodes_.at(kServer0)));
}

}  // namespace
}  // namespace attune::ps::coordinator_voters_test
