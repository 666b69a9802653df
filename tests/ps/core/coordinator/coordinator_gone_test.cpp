// Reports of the platform that a process has ended, and processes that take another one's place.
#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/followed_job.h"

namespace attune::ps::coordinator_gone_test {
namespace {

using std::chrono::seconds;

class CoordinatorGoneTest : public FollowedJob {};

// Else the operator would ask no other server, and a call of its never end.
TEST_F(CoordinatorGoneTest, AWordThatAProcessIsGoneIsAnsweredInTimeAlsoWhileItTakesOver) {
  Mirror();
  Follow();
  Step(FromOperator{.id = CommandId(5), .command = NodeGone{Role::kServer, 0, 10}, .timeout = seconds(20)});
  EXPECT_TRUE(out_.command_results.empty()) << "nothing has been done yet";
  Wait(seconds(19));
  EXPECT_TRUE(out_.command_results.empty());
  now_ += seconds(2);
  Step(CoordinatorTimer{});
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_EQ(out_.command_results[0].id, CommandId(5));
  EXPECT_EQ(out_.command_results[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(core_->progress().taking_over);
}

TEST_F(CoordinatorGoneTest, ANewProcessOfAMembersIndexProvesThatOneGone) {
  Mirror();
  Appoint({});
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  EXPECT_TRUE(core_->progress().taking_over);
  Join replacement = JoinOf(Role::kServer, 0, {}, 2);
  replacement.incarnation = NewIncarnation(99, 1);
  Say(ConnectionId(7), replacement);
  EXPECT_EQ(Sent<Promise>(ConnectionId(7)), nullptr);
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().servers, 1U);
}

TEST_F(CoordinatorGoneTest, AServerWithoutTheTablesDoesNotGetTheShardsOfALostOne) {
  Say(kWorker, OpenTable{.header = NextHeader(), .spec = {"rows", {.dim = 1}}});
  for (const ConnectionId server : {kServer0, kServer1}) {
    Say(server, TableInstalled{.table = TableId(1), .status = OkStatus()});
  }
  constexpr ConnectionId kLater{7};
  Say(kLater, JoinOf(Role::kServer, 2));
  Step(ConnectionClosed{.connection = kServer1});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 1, 11}, .timeout = seconds(10)});
  ASSERT_FALSE(map_.Contains(nodes_.at(kServer1)));
  ASSERT_TRUE(map_.Contains(nodes_.at(kLater)));
  for (const Shard& shard : map_.shards) EXPECT_EQ(shard.home, nodes_.at(kServer0));
}

// The platform says late that the process before is gone, and cannot say which one it was.
TEST_F(CoordinatorGoneTest, AReplacementIsNotTakenForTheProcessThatIsGone) {
  Join join = JoinOf(Role::kServer, 1);
  join.incarnation = NewIncarnation(99, 1);
  constexpr ConnectionId kReplacement{7}, kAgain{8};
  Replace(kReplacement, join);
  ASSERT_TRUE(nodes_.contains(kReplacement));
  Step(ConnectionClosed{.connection = kReplacement});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 1}, .timeout = seconds(10)});
  Say(kAgain, join);
  EXPECT_EQ(Sent<JoinRefused>(kAgain), nullptr) << "it is alive and joins again";
  EXPECT_NE(Sent<Welcome>(kAgain), nullptr);
}

// A network that parts keeps it silent for longer.
TEST_F(CoordinatorGoneTest, AWordThatNamesTheProcessBeforeConcernsNobodyElse) {
  Join join = JoinOf(Role::kServer, 1);
  join.incarnation = NewIncarnation(99, 1);
  constexpr ConnectionId kReplacement{7};
  Replace(kReplacement, join);
  Step(ConnectionClosed{.connection = kReplacement});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 1, 11}, .timeout = seconds(10)});
  for (int i = 0; i < 5; ++i) {
    Wait(seconds(1));
    Live({kServer0, kWorker});
  }
  EXPECT_EQ(core_->progress().servers, 2U);
  Step(FromOperator{.id = CommandId(2), .command = NodeGone{Role::kServer, 1, 99}, .timeout = seconds(10)});
  EXPECT_EQ(core_->progress().servers, 1U);
}

TEST_F(CoordinatorGoneTest, ACoordinatorThatTakesOverIsToldWhichProcessIsGone) {
  Mirror();
  Appoint({{Role::kServer, 0, 9}});
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  EXPECT_TRUE(core_->progress().taking_over) << "that was another process of its index";
  Step(FromOperator{.id = CommandId(9), .command = NodeGone{Role::kServer, 0, 10}, .timeout = seconds(10)});
  EXPECT_FALSE(core_->progress().taking_over);
}

TEST_F(CoordinatorGoneTest, AReplacementThatIsGoneAndSilentIsLost) {
  Join join = JoinOf(Role::kServer, 1);
  join.incarnation = NewIncarnation(99, 1);
  constexpr ConnectionId kReplacement{7};
  Replace(kReplacement, join);
  Step(ConnectionClosed{.connection = kReplacement});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 1}, .timeout = seconds(10)});
  EXPECT_EQ(core_->progress().servers, 2U);
  for (int i = 0; i < 3; ++i) {
    Wait(seconds(1));
    Live({kServer0, kWorker});
  }
  EXPECT_EQ(core_->progress().servers, 1U);
}

// Should the coordinator be lost before, the next one may know only a map of which the process is a voter still, and
// the operator would not report again that the process has ended.
TEST_F(CoordinatorGoneTest, AWordThatAProcessIsGoneIsAnsweredWhenAllServersHaveTheMapThatSaysSo) {
  constexpr ConnectionId kServer2{4};
  Say(kServer2, JoinOf(Role::kServer, 2));
  for (int i = 0; i < 3; ++i) {
    Live({kServer0, kServer1, kServer2});
    Wait(seconds(1));
  }
  Step(ConnectionClosed{kServer2});
  Step(FromOperator{.id = CommandId(7), .command = NodeGone{Role::kServer, 2, 12}, .timeout = seconds(30)});
  EXPECT_TRUE(out_.command_results.empty());
  Live({kServer0, kServer1});
  Wait(seconds(1));
  ASSERT_FALSE(map_.Contains(nodes_.at(kServer2)));
  ASSERT_TRUE(map_.former_voters.empty());
  EXPECT_TRUE(out_.command_results.empty()) << "no other process knows";
  Live({kServer0});
  EXPECT_TRUE(out_.command_results.empty()) << "the next one runs in server 1";
  Live({kServer1});
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_TRUE(out_.command_results[0].status.ok());
}

// It heartbeats as the member that it takes itself for, until it has heard the refusal.
TEST_F(CoordinatorGoneTest, AConnectionStaysOpenUntilARefusalHasArrived) {
  Step(ConnectionClosed{kWorker});
  Step(FromOperator{.id = CommandId(5), .command = NodeGone{Role::kWorker, 0, 20}, .timeout = seconds(20)});
  Step(CoordinatorTimer{});
  constexpr ConnectionId kAgain{7};
  Say(kAgain, JoinOf(Role::kWorker, 0, nodes_.at(kWorker)));
  ASSERT_NE(Sent<JoinRefused>(kAgain), nullptr);
  Say(kAgain, Heartbeat{});
  EXPECT_TRUE(out_.close.empty());
  Step(ConnectionClosed{kAgain});
  Say(kAgain, Heartbeat{});
  EXPECT_EQ(out_.close, std::vector{kAgain}) << "another connection of that number has not introduced itself";
}

TEST_F(CoordinatorGoneTest, ARefusedProcessCannotKeepItsConnection) {
  constexpr ConnectionId kStranger{7};
  Join stranger = JoinOf(Role::kWorker, 1);
  stranger.job_uid = "other";
  Say(kStranger, stranger);
  ASSERT_NE(Sent<JoinRefused>(kStranger), nullptr);
  now_ += seconds(5);  // half of the job's liveness lease
  Say(kStranger, stranger);
  Step(CoordinatorTimer{});
  EXPECT_TRUE(out_.close.empty());
  now_ += seconds(5);
  Step(CoordinatorTimer{});
  EXPECT_EQ(out_.close, std::vector{kStranger});
}

}  // namespace
}  // namespace attune::ps::coordinator_gone_test
