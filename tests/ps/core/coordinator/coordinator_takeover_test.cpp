// One coordinator after the other: the copy of the ledger, promises, terms and clocks. The simulation
// (tests/simulation/coordinator) has the long stories.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps {
namespace {

using std::chrono::seconds;

class CoordinatorTakeoverTest : public CoordinatedJob {
 protected:
  CoordinatorTakeoverTest()
      : CoordinatedJob({.job_uid = "job",
                        .servers = 2,
                        .shards = 4,
                        .goal = {.epochs = 1},
                        .items = 100,
                        .lease_items = 10,
                        .liveness_lease = seconds(10),
                        .leader_lease = seconds(12),
                        .host_index = 0}) {}

  // As a process that runs all the time.
  void Wait(Duration time) {
    CoordinatorOutputs all;
    const MonotonicTime until = now_ + time;
    while (now_ < until) {
      now_ = std::min(until, now_ + std::chrono::milliseconds(500));
      Step(CoordinatorTimer{});
      for (const ToConnection& sent : out_.send) all.send.push_back(sent);
      all.events.insert(all.events.end(), out_.events.begin(), out_.events.end());
      all.command_results.insert(all.command_results.end(), out_.command_results.begin(), out_.command_results.end());
      PromiseAgain();
    }
    out_ = std::move(all);
  }
  // As one that is stopped meanwhile.
  void Sleep(Duration time) {
    now_ += time;
    Step(CoordinatorTimer{});
  }
  // All nodes say that they live.
  void Live(std::vector<ConnectionId> nodes) {
    for (const ConnectionId node : nodes) Say(node, Heartbeat{.number = ++heartbeat_, .map_version = map_.version});
  }

  // By the newest voters of the newest map.
  bool Votes(NodeId node) const {
    const std::vector<NodeId>& voters = map_.voters.back().nodes;
    return std::ranges::find(voters, node) != voters.end();
  }

  RequestHeader NextHeader() { return {.request = RequestId(++request_), .remaining = seconds(30)}; }

  LeaseGrant TakeLease() {
    Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
    Mirror();
    Say(kWorker, LeaseRequest{.header = NextHeader(), .data_set = DataSetId(1)});
    Say(kServer1, MirrorAck{.number = record_.number});
    const auto* grant = Sent<LeaseGrant>(kWorker);
    EXPECT_NE(grant, nullptr);
    return grant == nullptr ? LeaseGrant{} : *grant;
  }

  // Server 0 is gone; server 1 runs the next one.
  void Appoint(std::vector<NodeGone> gone) {
    Follow();
    for (const NodeGone& node : gone) Step(FromOperator{.id = CommandId(++command_), .command = node});
    JoinAgain(kServer1);
    EXPECT_NE(Sent<Promise>(kServer1), nullptr);
    Say(kServer1, AnswerOf({}, record_));
    ConfirmWhenWanted();
  }
  Promised WorkersAnswer(std::vector<LeasePosition> leases) const {
    return {
        .map = map_, .standing = {.number = 9, .leases = std::move(leases)}, .sync = {}, .tables = {}, .mirror = {}};
  }

  // Another process of server 1's index, while that one is silent: half of the voters are missing until the operator
  // confirms the other half.
  void Replace(ConnectionId replacement, const Join& join) {
    Say(replacement, join);
    for (int i = 0; i < 8; ++i) {
      Wait(seconds(1));
      Live({kServer0, kWorker});
    }
    ConfirmWhenWanted();
    Say(replacement, join);
  }

  uint64_t request_ = 0, heartbeat_ = 100, command_ = 0;
};

TEST_F(CoordinatorTakeoverTest, AnAnswerWaitsUntilTheCopyKnowsIt) {
  Mirror();
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr);
  ASSERT_NE(Sent<MirrorUpdate>(kServer1), nullptr);
  ASSERT_EQ(record_.data_sets.size(), 1U);
  EXPECT_EQ(record_.data_sets[0].progress.items, 100U);
  Say(kServer1, MirrorAck{.number = record_.number - 1});
  EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr) << "an older copy";
  Say(kServer1, MirrorAck{.number = record_.number});
  EXPECT_NE(Sent<DataSetOpened>(kWorker), nullptr);
}

// A successor may be leading before it hears that another server has joined.
TEST_F(CoordinatorTakeoverTest, TheCopyStaysWithAServerThatVotesUntilTheNextOneDoes) {
  Mirror();
  Appoint({{Role::kServer, 0, 10}});
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  constexpr ConnectionId kServer2{8}, kServer0Again{9};
  Say(kServer2, JoinOf(Role::kServer, 2));
  for (int i = 0; i < 3; ++i) {
    Live({kServer1, kServer2});
    Wait(seconds(1));
  }
  Join join = JoinOf(Role::kServer, 0);
  join.incarnation = NewIncarnation(99, 1);
  Say(kServer0Again, join);
  ASSERT_TRUE(nodes_.contains(kServer0Again));
  EXPECT_EQ(Sent<MirrorUpdate>(kServer0Again), nullptr);
  bool copied = false;
  for (int i = 0; i < 5; ++i) {
    Live({kServer1, kServer2, kServer0Again});
    Wait(seconds(1));
    copied = copied || Sent<MirrorUpdate>(kServer0Again) != nullptr;
  }
  EXPECT_TRUE(copied) << "it votes by now, and is the first by index";
}

// A successor that finds the older copy alone would take it for the newest.
TEST_F(CoordinatorTakeoverTest, AnAnswerWaitsUntilNoServerHasAnOlderCopy) {
  Mirror();
  Follow();
  for (const ConnectionId server : {kServer0, kServer1}) {
    JoinAgain(server);
    Say(server, AnswerOf({}, record_));
  }
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  for (int i = 0; i < 2; ++i) {
    Say(kServer0, MirrorAck{.number = record_.number});
    EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr) << "server 1 has a copy of the coordinator before";
  }
  EXPECT_GT(map_.records_from >> 32, 1U);
  Say(kServer1, RowsReport{.number = 1, .map_version = map_.version});
  EXPECT_NE(Sent<DataSetOpened>(kWorker), nullptr) << "it has dropped that";
}

TEST_F(CoordinatorTakeoverTest, WhenTheCopyMovesItsFormerPlaceDropsIt) {
  Mirror();
  constexpr ConnectionId kServer2{4};
  Say(kServer2, JoinOf(Role::kServer, 2));
  for (int i = 0; i < 3; ++i) {
    Live({kServer0, kServer1, kServer2});
    Wait(seconds(1));
  }
  Mirror();
  EXPECT_EQ(map_.records_from, 0U) << "no server has an older one";
  Step(FromOperator{.id = CommandId(1), .command = DrainServer{1}});
  ASSERT_NE(Sent<MirrorUpdate>(kServer2), nullptr);
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  for (int i = 0; i < 2; ++i) {
    Say(kServer2, MirrorAck{.number = record_.number});
    EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr);
  }
  EXPECT_GT(map_.records_from, 0U);
  Live({kServer1});
  EXPECT_NE(Sent<DataSetOpened>(kWorker), nullptr);
}

TEST_F(CoordinatorTakeoverTest, TheNextOneGoesOnWithLeasesAndMapUnderItsTerm) {
  const LeaseGrant grant = TakeLease();
  Appoint({{Role::kServer, 0}});
  EXPECT_TRUE(core_->progress().taking_over) << "the worker has not answered";
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({{grant.lease, grant.begin + 4}}));
  EXPECT_FALSE(core_->progress().taking_over);
  ASSERT_NE(Sent<Welcome>(kWorker), nullptr);
  EXPECT_EQ(map_.version, MapVersion(2, 1));
  EXPECT_EQ(map_.recovered_at, map_.version) << "server 0's rows are to be recovered";
  for (const Shard& shard : map_.shards) EXPECT_EQ(shard.home, nodes_.at(kServer1));
  EXPECT_EQ(core_->progress().items_done, 4U);
  EXPECT_EQ(core_->progress().reprocessed_items, 0U);
  Say(kWorker, LeaseDone{.header = NextHeader(), .lease = grant.lease});
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  EXPECT_EQ(core_->progress().items_done, 10U);
  Say(kWorker, LeaseRequest{.header = NextHeader(), .data_set = DataSetId(1)});
  ASSERT_NE(Sent<LeaseGrant>(kWorker), nullptr);
  EXPECT_EQ(Sent<LeaseGrant>(kWorker)->begin, 10U) << "what is held or done is not given again";
}

TEST_F(CoordinatorTakeoverTest, ItemsOfALostWorkerAreCounted) {
  const LeaseGrant grant = TakeLease();
  Appoint({{Role::kServer, 0}, {Role::kWorker, 0}});
  EXPECT_FALSE(core_->progress().taking_over) << "everybody has answered or is gone";
  EXPECT_EQ(core_->progress().reprocessed_items, grant.end - grant.begin);
}

TEST_F(CoordinatorTakeoverTest, WhoIsSilentCountsAsDeadWhenNobodyCanHaveGivenItTime) {
  (void)TakeLease();
  Appoint({{Role::kServer, 0}});
  Wait(seconds(9));
  EXPECT_TRUE(core_->progress().taking_over);
  Wait(seconds(3));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().workers, 0U);
}

// Of two servers each is one half: only the operator can say which of them continues.
TEST_F(CoordinatorTakeoverTest, AnOldOneThatMayBeAliveIsWaitedFor) {
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

TEST_F(CoordinatorTakeoverTest, ASilentOneIsFollowedOnceItsLeaseHasEndedAndTheOperatorConfirms) {
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
class OldServerWhoseConnectionBreaksTest : public CoordinatorTakeoverTest {
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

TEST_F(CoordinatorTakeoverTest, AMapNamesTheVotersThatAMajorityHasYetToLeaveBehind) {
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
TEST_F(CoordinatorTakeoverTest, ItAsksToGoOnWithServersThatKeepTheirVotesOnly) {
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
class VotersOfTheMapBeforeTest : public CoordinatorTakeoverTest {
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

// It left before the copy was made, and the map that says so has reached no member.
TEST_F(CoordinatorTakeoverTest, WhoHadLeftIsNotWaitedFor) {
  (void)TakeLease();
  Appoint({{Role::kServer, 0, 10}});
  ShardMap older = map_;
  older.members.push_back({.node = NodeId(77), .role = Role::kWorker, .index = 5});
  promised_.at(kServer1).map = older;
  promised_.at(kServer1).mirror->next_node = NodeId(78 + static_cast<uint32_t>(kMembersMax));
  Say(kServer1, Promised(promised_.at(kServer1)));
  JoinAgain(kWorker);
  Promised answer = WorkersAnswer({});
  answer.map = older;
  Say(kWorker, answer);
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().workers, 1U);
}

// Else the operator would ask no other server, and a call of its never end.
TEST_F(CoordinatorTakeoverTest, AWordThatAProcessIsGoneIsAnsweredInTimeAlsoWhileItTakesOver) {
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

// In an orderly change the old one's server answers with what that one knew last, which no copy may have.
TEST_F(CoordinatorTakeoverTest, WhatTheOldOneKnewLastIsNewerThanEveryCopy) {
  const LeaseGrant first = TakeLease();
  const CoordinatorRecord copy = record_;
  Say(kWorker, LeaseDone{.header = NextHeader(), .lease = first.lease});  // not in any acknowledged copy
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  ASSERT_TRUE(last.has_value());
  EXPECT_GT(last->number, copy.number);
  record_ = copy;
  Appoint({});
  JoinAgain(kServer0);
  Say(kServer0, AnswerOf({}, last));
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().items_done, first.end - first.begin);
}

TEST_F(CoordinatorTakeoverTest, WithoutAnyCopyTheOldOnesServerIsWaitedFor) {
  (void)TakeLease();
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  Follow();
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf());
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  for (int i = 0; i < 20; ++i) Wait(seconds(5));
  EXPECT_TRUE(core_->progress().taking_over);
  EXPECT_FALSE(out_.failed.has_value());
  JoinAgain(kServer0);
  Say(kServer0, AnswerOf({}, last));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_FALSE(out_.failed.has_value());
}

// It was asked for right after the job had formed. A node keeps its number only with a map, which has not come yet, so
// the server with the newest record comes without one.
TEST_F(CoordinatorTakeoverTest, MembersThatHaveNoMapYetAreRecognized) {
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  Follow();
  Say(kServer0, JoinOf(Role::kServer, 0, {}, 2));
  Say(kWorker, JoinOf(Role::kWorker, 0, {}, 2));
  EXPECT_EQ(Sent<Promise>(kWorker), nullptr) << "no answer has named the members yet";
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf());
  ASSERT_NE(Sent<Promise>(kServer0), nullptr);
  ASSERT_NE(Sent<Promise>(kWorker), nullptr);
  EXPECT_FALSE(out_.failed.has_value());
  Say(kServer0, Promised{.map = {}, .standing = {}, .sync = {}, .tables = {}, .mirror = last});
  EXPECT_TRUE(core_->progress().taking_over) << "the worker has not answered";
  Promised answer = WorkersAnswer({});
  answer.map = {};
  Say(kWorker, answer);
  ASSERT_FALSE(core_->progress().taking_over);
  EXPECT_FALSE(out_.failed.has_value());
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->progress().workers, 1U);
  EXPECT_EQ(map_.recovered_at, MapVersion()) << "no member was lost";
  ASSERT_NE(Sent<Welcome>(kServer0), nullptr);
  EXPECT_EQ(Sent<Welcome>(kServer0)->node, record_.host) << "the number it had";
}

TEST_F(CoordinatorTakeoverTest, WhoDoesNotPromiseIsAskedAgain) {
  Mirror();
  Appoint({{Role::kServer, 0}});
  JoinAgain(kWorker);
  ASSERT_NE(Sent<Promise>(kWorker), nullptr);
  Wait(seconds(1));
  EXPECT_EQ(Sent<Promise>(kWorker), nullptr);
  Wait(seconds(3));
  EXPECT_NE(Sent<Promise>(kWorker), nullptr);
  EXPECT_NE(Sent<Promise>(kServer1), nullptr) << "it has promised; its support ages";
}

TEST_F(CoordinatorTakeoverTest, ANewProcessOfAMembersIndexProvesThatOneGone) {
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

// The old one has gone on without server 1 and its copy.
TEST_F(CoordinatorTakeoverTest, AServerThatWasDeclaredLostMeanwhileDoesNotLead) {
  (void)TakeLease();
  Appoint({{Role::kServer, 0}});
  ShardMap newer = map_;
  newer.version = newer.version.Next();
  std::erase_if(newer.members, [&](const Member& member) { return member.node == nodes_.at(kServer1); });
  for (Shard& shard : newer.shards) shard = {.home = nodes_.at(kServer0), .routing_since = newer.version};
  JoinAgain(kWorker);
  Promised answer = WorkersAnswer({});
  answer.map = newer;
  Say(kWorker, answer);
  EXPECT_TRUE(out_.superseded);
  EXPECT_NE(Sent<SessionLost>(kServer1), nullptr) << "its process ends, and another server is appointed";
}

// It was quicker with a map that is older than the joining of the server with the copy. Without that one's answer it
// looks as if all who are left had answered and no server had a copy.
TEST_F(CoordinatorTakeoverTest, NothingIsDecidedBeforeItsOwnServerHasAnswered) {
  Mirror();
  Follow();
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 0}});
  JoinAgain(kWorker);
  Promised answer = WorkersAnswer({});
  answer.map.version = MapVersion(1, 0);
  std::erase_if(answer.map.members, [&](const Member& member) { return member.node == nodes_.at(kServer1); });
  for (Shard& shard : answer.map.shards) shard = {.home = nodes_.at(kServer0), .routing_since = answer.map.version};
  Say(kWorker, answer);
  EXPECT_FALSE(out_.failed.has_value());
  ASSERT_TRUE(core_->progress().taking_over);
  JoinAgain(kServer1);
  EXPECT_TRUE(core_->progress().taking_over) << "it has been asked";
  Say(kServer1, AnswerOf({}, record_));
  ConfirmWhenWanted();
  EXPECT_FALSE(out_.failed.has_value());
  EXPECT_FALSE(core_->progress().taking_over);
}

// Server 2 has joined last, and its map has reached a worker alone. Servers link with those whom their map names, and
// say there where the coordinator is.
TEST_F(CoordinatorTakeoverTest, TheNewestMapIsPassedOnToServersThatHaveAnOlderOne) {
  Mirror();
  Appoint({{Role::kServer, 0}});
  ShardMap newer = map_;
  newer.version = newer.version.Next();
  newer.members.push_back({.node = NodeId(77), .role = Role::kServer, .index = 2, .address = "server-2:7400"});
  JoinAgain(kWorker);
  Promised answer = WorkersAnswer({});
  answer.map = newer;
  Say(kWorker, answer);
  ASSERT_NE(Sent<MapUpdate>(kServer1), nullptr);
  EXPECT_EQ(Sent<MapUpdate>(kServer1)->map.version, newer.version);
  EXPECT_EQ(Sent<MapUpdate>(kWorker), nullptr) << "it has that one";
  EXPECT_TRUE(core_->progress().taking_over) << "server 2 is a member and has not answered";
  Wait(seconds(1));
  EXPECT_EQ(Sent<MapUpdate>(kServer1), nullptr) << "once";
}

// Lost or released under an earlier coordinator. A server asks for nothing, so it would wait for ever, and its place
// would stay empty.
TEST_F(CoordinatorTakeoverTest, AServerThatNoCoordinatorKnowsStartsAgain) {
  Mirror();
  Appoint({{Role::kServer, 0}});
  constexpr ConnectionId kEarly{8}, kLate{9};
  Say(kEarly, JoinOf(Role::kServer, 2, NodeId(77), 2));
  Promised answer = AnswerOf();
  answer.map.version = MapVersion(1, 0);  // from when it was one
  answer.map.members.push_back({.node = NodeId(77), .role = Role::kServer, .index = 2, .address = "server-2:7400"});
  Say(kEarly, answer);
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  EXPECT_NE(Sent<SessionLost>(kEarly), nullptr);
  Say(kLate, JoinOf(Role::kServer, 3, NodeId(78), 2));
  EXPECT_NE(Sent<JoinRefused>(kLate), nullptr);
}

// It has followed the coordinator before for longer, and was declared lost meanwhile.
TEST_F(CoordinatorTakeoverTest, TheClockOfAWorkerThatIsNoMemberCountsForNobody) {
  Mirror();
  Appoint({{Role::kServer, 0, 10}});
  constexpr ConnectionId kLost{8};
  Say(kLost, JoinOf(Role::kWorker, 5, NodeId(77), 2));
  Promised late = AnswerOf();
  late.map.version = MapVersion(1, 0);
  late.map.members.push_back({.node = NodeId(77), .role = Role::kWorker, .index = 5});
  late.sync = {.revision = (uint64_t{1} << 32) + 900, .floor = 800, .mode = SyncMode::Ssp(9), .hold_at = 900};
  Say(kLost, late);
  JoinAgain(kWorker);
  Promised answer = WorkersAnswer({});
  answer.sync = {.revision = (uint64_t{1} << 32) + 7, .floor = 3, .mode = SyncMode::Bsp()};
  Say(kWorker, answer);
  ASSERT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().floor_clock, 3U);
  EXPECT_EQ(core_->progress().synchronization, "bsp");
}

// Its worker has done all its items and is still in a step with it: others may not run ahead of that worker.
TEST_F(CoordinatorTakeoverTest, ALeaseWhoseItemsAreDoneIsKeptUntilItsWorkerEndsIt) {
  const LeaseGrant grant = TakeLease();
  Say(kWorker, Heartbeat{.number = ++heartbeat_, .leases = {{grant.lease, grant.end}}});
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  ASSERT_TRUE(last && last->data_sets.size() == 1);
  EXPECT_EQ(last->data_sets[0].holders.size(), 1U);
  EXPECT_EQ(last->data_sets[0].progress.open.size(), 1U);
}

// No worker had been informed of the table: not all servers had loaded it.
TEST_F(CoordinatorTakeoverTest, TablesThatWereBeingLoadedAreLoaded) {
  const RestorePoint load{.directory = "/c", .checkpoint = 7, .clock = 40};
  const TableSpec spec{.name = "t", .options = {.dim = 2}};
  Mirror();
  record_.load = load;
  record_.tables = {{.spec = spec}};
  Follow();
  JoinAgain(kServer0);
  const std::vector<InstallTable> has = {{.table = TableId(1), .spec = spec, .load = {}}};
  Say(kServer0, AnswerOf(has, record_));
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf());
  ASSERT_NE(Sent<InstallTable>(kServer1), nullptr);
  EXPECT_EQ(Sent<InstallTable>(kServer1)->load, load);
  ASSERT_NE(Sent<InstallTable>(kServer0), nullptr);
  EXPECT_EQ(Sent<InstallTable>(kServer0)->load, load) << "one that has read it answers at once";
  Say(kServer0, TableInstalled{.table = TableId(1), .status = OkStatus()});
  Say(kWorker, OpenTable{.header = NextHeader(), .spec = spec});
  const auto is_opened = [&] {
    bool opened = false;
    for (int i = 0; i < 3; ++i) {
      Say(kServer0, MirrorAck{.number = record_.number});
      opened = opened || Sent<TableOpened>(kWorker) != nullptr;
    }
    return opened;
  };
  EXPECT_FALSE(is_opened()) << "server 1 is still loading";
  Say(kServer1, TableInstalled{.table = TableId(1), .status = OkStatus()});
  EXPECT_TRUE(is_opened());
}

// The job begins again when its coordinator was lost before it had formed: no member may bring along what was before.
TEST_F(CoordinatorTakeoverTest, OneThatBeginsRefusesWhoKnowsAnEarlierMap) {
  core_.emplace(CoordinatorOptions{.job_uid = "job", .servers = 2, .shards = 4, .host_index = 0});
  Say(kServer1, JoinOf(Role::kServer, 1, NodeId(2)));
  ASSERT_NE(Sent<JoinRefused>(kServer1), nullptr);
  Say(kServer1, JoinOf(Role::kServer, 1));
  EXPECT_NE(Sent<Welcome>(kServer1), nullptr);
}

TEST_F(CoordinatorTakeoverTest, TheServerItRunsInIsNotReleased) {
  (void)TakeLease();
  Follow();
  for (Member& member : map_.members) member.leaving = member.node == nodes_.at(kServer1);  // was being drained
  for (Shard& shard : map_.shards) shard = {.home = nodes_.at(kServer0), .routing_since = map_.version};
  const Promised answer = AnswerOf({}, record_);
  for (const ConnectionId server : {kServer0, kServer1}) {
    JoinAgain(server);
    Say(server, answer);
  }
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  for (const ConnectionId server : {kServer0, kServer1}) {
    Say(server, RowsReport{.number = 1, .map_version = map_.version});
    EXPECT_EQ(Sent<Finished>(kServer1), nullptr);
  }
  EXPECT_EQ(core_->progress().servers, 2U);
}

// A rate is made of it: a total that falls when a member is gone would be a rate beyond all numbers.
TEST_F(CoordinatorTakeoverTest, RowsThatMovedAreCountedWhileItCoordinates) {
  (void)TakeLease();
  const auto received = [&](ConnectionId from, uint64_t number, uint64_t rows) {
    Say(from, RowsReport{.number = number, .map_version = map_.version, .rows_received = rows});
    return core_->progress().rows_moved;
  };
  received(kServer0, 1, 0);
  EXPECT_EQ(received(kServer1, 1, 500), 0U) << "moved before anybody counted";
  EXPECT_EQ(received(kServer1, 2, 800), 300U);
  EXPECT_EQ(received(kServer0, 2, 50), 350U);
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 1}});
  EXPECT_EQ(core_->progress().rows_moved, 350U);
}

// A map of servers that have never been heard of, and none that has answered: there would be no server to give shards
// to.
TEST_F(CoordinatorTakeoverTest, AMapWithoutItsSenderIsNotBelieved) {
  Follow();
  JoinAgain(kWorker);
  Promised lie = AnswerOf({}, record_);
  lie.map.version = MapVersion(9, 9);
  lie.map.members = {{.node = NodeId(77), .role = Role::kServer}};
  for (Shard& shard : lie.map.shards) shard = {.home = NodeId(77), .routing_since = lie.map.version};
  ASSERT_TRUE(Validate(lie.map).ok());
  Say(kWorker, lie);
  lie.map.members.push_back({.node = nodes_.at(kWorker), .role = Role::kWorker});
  std::ranges::sort(lie.map.members, {}, &Member::node);
  Say(kWorker, lie);  // nor one whose servers have said nothing
  for (int i = 0; i < 100; ++i) Wait(seconds(1));
  EXPECT_FALSE(core_->map().formed());
}

TEST_F(CoordinatorTakeoverTest, WithoutACopyTheJobEnds) {
  (void)TakeLease();
  record_ = {};
  term_ = 2;
  questions_.clear();
  core_.emplace(CoordinatorOptions{.job_uid = "job",
                                   .term = 2,
                                   .takeover = true,
                                   .newest_checkpoint = {.directory = "/c", .checkpoint = 7, .clock = 40},
                                   .host_index = 1});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 0}});
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf());
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ConfirmWhenWanted();
  ASSERT_TRUE(out_.failed.has_value());
  EXPECT_NE(std::string(attune::Message(*out_.failed)).find("attune run --resume /c"), std::string::npos);
  EXPECT_NE(Sent<SessionLost>(kWorker), nullptr);
}

TEST_F(CoordinatorTakeoverTest, ANodeThatObeysAHigherTermEndsTheOldOne) {
  JoinAgain(kWorker);
  EXPECT_TRUE(out_.superseded);
  EXPECT_TRUE(out_.send.empty());
  Say(kWorker, Heartbeat{.number = 500});
  EXPECT_TRUE(out_.send.empty());
  EXPECT_EQ(core_->WakeAt(), kNever);
}

TEST_F(CoordinatorTakeoverTest, AServerWithoutTheTablesDoesNotGetTheShardsOfALostOne) {
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
TEST_F(CoordinatorTakeoverTest, AReplacementIsNotTakenForTheProcessThatIsGone) {
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
TEST_F(CoordinatorTakeoverTest, AWordThatNamesTheProcessBeforeConcernsNobodyElse) {
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

TEST_F(CoordinatorTakeoverTest, ACoordinatorThatTakesOverIsToldWhichProcessIsGone) {
  Mirror();
  Appoint({{Role::kServer, 0, 9}});
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  EXPECT_TRUE(core_->progress().taking_over) << "that was another process of its index";
  Step(FromOperator{.id = CommandId(9), .command = NodeGone{Role::kServer, 0, 10}, .timeout = seconds(10)});
  EXPECT_FALSE(core_->progress().taking_over);
}

TEST_F(CoordinatorTakeoverTest, AReplacementThatIsGoneAndSilentIsLost) {
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

TEST_F(CoordinatorTakeoverTest, OneThatHearsNoOtherServerGivesNobodyTime) {
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
TEST_F(CoordinatorTakeoverTest, AServerThatIsProvenGoneHasNoVoteInLaterMapsThoughItCannotBeDeclaredLost) {
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

// Should the coordinator be lost before, the next one may know only a map of which the process is a voter still, and
// the operator would not report again that the process has ended.
TEST_F(CoordinatorTakeoverTest, AWordThatAProcessIsGoneIsAnsweredWhenAllServersHaveTheMapThatSaysSo) {
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

TEST_F(CoordinatorTakeoverTest, ACoordinatorThatWasStoppedDeclaresNobodyLost) {
  Live({kServer0, kServer1, kWorker});
  Sleep(std::chrono::minutes(10));
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->progress().workers, 1U) << "it is the coordinator that was silent";
  Live({kServer0, kServer1, kWorker});
  Wait(seconds(1));
  Live({kServer0, kServer1, kWorker});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_GT(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
}

TEST_F(CoordinatorTakeoverTest, WhileNobodyIsHeardNobodyIsDeclaredLost) {
  Live({kServer0, kServer1, kWorker});
  Wait(seconds(1));
  Live({kServer0, kServer1});  // the last word of anybody else
  for (int i = 0; i < 6; ++i) {
    Wait(std::chrono::milliseconds(500));
    Live({kServer0});
  }
  EXPECT_EQ(core_->progress().workers, 1U) << "silent for 4 s, and so are all others for 3 s";
}

// Its own machine was cut off. With the first server that comes back it is leading again; the others need a moment.
TEST_F(CoordinatorTakeoverTest, ACoordinatorThatWasCutOffDeclaresNobodyLostWhoComesBackALittleLater) {
  Live({kServer0, kServer1, kWorker});
  for (int i = 0; i < 40; ++i) {
    Wait(std::chrono::milliseconds(500));
    Live({kServer0});
  }
  Live({kServer0, kServer1});
  Wait(std::chrono::milliseconds(500));
  Live({kServer0, kServer1});
  EXPECT_EQ(core_->progress().workers, 1U);
  Live({kWorker});
  for (int i = 0; i < 12; ++i) {
    Wait(seconds(1));
    Live({kServer0, kServer1});
  }
  EXPECT_EQ(core_->progress().workers, 0U) << "silent while others are heard";
}

// It has heard no other server for ten minutes of real time: there may be another coordinator.
TEST_F(CoordinatorTakeoverTest, ACoordinatorThatWasStoppedGivesNobodyTimeBeforeItHearsAnotherServer) {
  Live({kServer0, kServer1, kWorker});
  Sleep(std::chrono::minutes(10));
  Say(kWorker, Heartbeat{.number = ++heartbeat_});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_EQ(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
  Live({kServer0, kServer1});
  Live({kServer0, kServer1});
  Say(kWorker, Heartbeat{.number = ++heartbeat_});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_GT(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
}

TEST_F(CoordinatorTakeoverTest, WhoIsSilentAfterAPauseIsStillLost) {
  Live({kServer0, kServer1, kWorker});
  Sleep(seconds(60));
  for (int i = 0; i < 12; ++i) {
    Live({kServer0, kServer1});
    Wait(seconds(1));
  }
  EXPECT_EQ(core_->progress().workers, 0U);
}

TEST_F(CoordinatorTakeoverTest, AJoinWithATermOutOfReachEndsNobody) {
  Join join = JoinOf(Role::kWorker, 7, {}, 4'000'000'000);
  Say(ConnectionId(7), join);
  EXPECT_FALSE(out_.superseded);
  join.term = 2;
  join.job_uid = "another";
  Say(ConnectionId(7), join);
  EXPECT_FALSE(out_.superseded) << "of another job";
}

TEST_F(CoordinatorTakeoverTest, AClockThatGoesBackStandsStill) {
  Live({kServer0, kServer1, kWorker});
  now_ -= seconds(60);
  Step(CoordinatorTimer{});
  Live({kServer0, kServer1, kWorker});
  now_ += seconds(60);
  Wait(seconds(2));
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->progress().workers, 1U) << "no member was silent for long";
}

}  // namespace
}  // namespace attune::ps
