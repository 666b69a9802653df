// One coordinator after the other: promises, terms, leases and clocks. The simulation (tests/simulation/coordinator)
// has the long stories.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/ps/core/coordinator/followed_job.h"

namespace attune::ps::coordinator_takeover_test {
namespace {

using std::chrono::seconds;

class CoordinatorTakeoverTest : public FollowedJob {};

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

TEST_F(CoordinatorTakeoverTest, AResumedJobContinuesAtItsClockThoughNoWorkerHasBegun) {
  (void)TakeLease();
  record_.resume = CutRecord{.synchronization = "async", .clock = 30, .steps = 60};
  Appoint({{Role::kServer, 0}, {Role::kWorker, 0}});
  ASSERT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().floor_clock, 30U);
}

// The map says that it leaves; the request for it was known to the coordinator before alone.
TEST_F(CoordinatorTakeoverTest, AWorkerThatWasLeavingIsAnsweredWhenItAsksAgain) {
  (void)TakeLease();
  for (Member& member : map_.members) member.leaving = member.role == Role::kWorker;
  Appoint({{Role::kServer, 0}});
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  for (const ConnectionId node : {kServer1, kWorker}) {
    Say(node, RowsReport{.number = 1'000, .map_version = map_.version});
    EXPECT_EQ(Sent<Finished>(kWorker), nullptr) << "that is for servers";
  }
  EXPECT_EQ(core_->progress().workers, 1U) << "it waits for its answer";
  Say(kWorker, Leave{.header = NextHeader()});
  Say(kWorker, RowsReport{.number = 1'001, .map_version = map_.version});
  EXPECT_EQ(core_->progress().workers, 0U);
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

TEST_F(CoordinatorTakeoverTest, ANodeThatObeysAHigherTermEndsTheOldOne) {
  JoinAgain(kWorker);
  EXPECT_TRUE(out_.superseded);
  EXPECT_TRUE(out_.send.empty());
  Say(kWorker, Heartbeat{.number = 500});
  EXPECT_TRUE(out_.send.empty());
  EXPECT_EQ(core_->WakeAt(), kNever);
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

}  // namespace
}  // namespace attune::ps::coordinator_takeover_test
