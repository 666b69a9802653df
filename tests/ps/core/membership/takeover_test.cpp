#include "ps/core/membership/takeover.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "ps/core/protocol/incarnation.h"

namespace attune::ps::takeover_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kA{1}, kB{2}, kC{3}, kWorker{4};  // three servers, and a worker
constexpr ConnectionId kToA{11}, kToB{12}, kToC{13}, kToWorker{14};
constexpr MonotonicTime kStart{};
constexpr Duration kLease = seconds(12), kLiveness = seconds(10), kUncovered = seconds(20);

constexpr uint32_t PodNumberOf(NodeId node) { return 100 + node.value(); }

// The coordinator of term 1 ran in A; the one of term 2 runs in B. Every shard of A has its copy at B.
class TakeoverTest : public testing::Test {
 protected:
  TakeoverTest() {
    takeover_.Begin(kStart);
    map_.version = MapVersion(1, 5);
    for (const NodeId server : {kA, kB, kC}) map_.members.push_back(MemberOf(server));
    map_.members.push_back(MemberOf(kWorker));
    map_.shards = {{.home = kA, .backup = kB}, {.home = kB, .backup = kC}};
    record_.number = (uint64_t{1} << 32) + 8;
    record_.host = kA;
    for (const Member& member : map_.members) record_.nodes.push_back({.node = member.node});
    record_.next_node = NodeId(5000);
  }

  static Member MemberOf(NodeId node) {
    const bool server = node != kWorker;
    return {.node = node,
            .role = server ? Role::kServer : Role::kWorker,
            .index = server ? node.value() - 1 : 0,
            .incarnation = NewIncarnation(PodNumberOf(node), 1)};
  }
  static Join JoinOf(const Member& member, NodeId node) {
    return {.incarnation = member.incarnation, .role = member.role, .index = member.index, .node = node};
  }
  void Joins(NodeId node, ConnectionId from) { (void)takeover_.OnJoin(from, JoinOf(MemberOf(node), node)); }
  Promised AnswerWith(const ShardMap& map) const {
    return {.map = map, .standing = {}, .sync = {}, .tables = {}, .mirror = {}};
  }
  void Answers(NodeId node, ConnectionId from, bool with_record = false, MonotonicTime now = kStart) {
    Joins(node, from);
    Promised answer = AnswerWith(map_);
    if (with_record) answer.mirror = record_;
    (void)takeover_.OnPromised(from, answer, now);
  }
  std::string Missing(MonotonicTime now) { return takeover_.Missing(takeover_.FindNewest().value(), now); }
  bool OldLeaseEnded(MonotonicTime now) {
    LeaderLease lease(2, kLease);
    takeover_.Configure(map_, lease);
    return takeover_.OldLeaseEnded(takeover_.FindNewest().value(), VotersOf(map_), now);
  }

  ShardMap map_;
  CoordinatorRecord record_;
  Takeover takeover_{{.host_index = 1,
                      .leader_lease = kLease,
                      .liveness_lease = kLiveness,
                      .uncovered_timeout = kUncovered,
                      .report_after = seconds(5)}};
};

TEST_F(TakeoverTest, NothingIsKnownBeforeItsOwnServerHasAnswered) {
  Answers(kA, kToA, true);
  EXPECT_FALSE(takeover_.FindNewest()) << "its own server may know a later map";
  Joins(kB, kToB);
  EXPECT_FALSE(takeover_.FindNewest());
  Answers(kB, kToB);
  const auto newest = takeover_.FindNewest();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->map.version, map_.version);
  ASSERT_NE(newest->record, nullptr);
  EXPECT_EQ(newest->record->number, record_.number);
}

TEST_F(TakeoverTest, ARecordAtAServerThatTheNewestMapHasNotIsAnOldOne) {
  Answers(kA, kToA, true);
  std::erase_if(map_.members, [](const Member& member) { return member.node == kA; });
  map_.version = map_.version.Next();
  Answers(kB, kToB);
  EXPECT_EQ(takeover_.FindNewest().value().record, nullptr);
}

TEST_F(TakeoverTest, ACopyThatAServerHasDroppedSinceStillCounts) {
  Answers(kB, kToB, true);
  Answers(kB, kToB, false);
  EXPECT_NE(takeover_.FindNewest().value().record, nullptr);
}

TEST_F(TakeoverTest, OnlyAMemberOfTheMapThatItNamesAnswers) {
  Joins(kB, kToB);
  ShardMap without = map_;
  std::erase_if(without.members, [](const Member& member) { return member.node == kB; });
  EXPECT_TRUE(takeover_.OnPromised(kToB, AnswerWith(without), kStart).empty());
  EXPECT_TRUE(takeover_.OnPromised(kToA, AnswerWith(map_), kStart).empty()) << "no member is there";
  EXPECT_EQ(takeover_.OnPromised(kToB, AnswerWith(map_), kStart), std::vector<NodeId>{kB});
}

TEST_F(TakeoverTest, AMemberWithoutANumberIsRecognizedByItsProcess) {
  Answers(kB, kToB, true);
  EXPECT_FALSE(takeover_.OnJoin(kToC, JoinOf(MemberOf(kC), NodeId())));
  Member other = MemberOf(kWorker);
  other.incarnation = NewIncarnation(900, 1);
  EXPECT_FALSE(takeover_.OnJoin(kToWorker, JoinOf(other, NodeId())));
  const auto questions = takeover_.Recognize(map_);
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0].node, kC);
  EXPECT_EQ(questions[0].to, kToC);
  EXPECT_TRUE(takeover_.Recognize(map_).empty()) << "it is asked already";
  EXPECT_TRUE(Missing(kStart).find("server 2") != std::string::npos);
  EXPECT_TRUE(Missing(kStart).find("worker 0") == std::string::npos) << "another process has taken its place";
}

TEST_F(TakeoverTest, AServerWithAnOlderMapIsPassedTheNewestOneOnce) {
  Answers(kC, kToC);
  map_.version = map_.version.Next();
  Answers(kB, kToB);
  EXPECT_EQ(takeover_.PassOn(map_), std::vector<ConnectionId>{kToC});
  EXPECT_TRUE(takeover_.PassOn(map_).empty());
}

TEST_F(TakeoverTest, TheMapOfARecoveryIsNotPassedOn) {
  Answers(kC, kToC);
  map_.version = map_.recovered_at = map_.version.Next();
  Answers(kB, kToB);
  EXPECT_TRUE(takeover_.PassOn(map_).empty());
}

TEST_F(TakeoverTest, ItsServerMayHaveBeenDeclaredLostMeanwhile) {
  Answers(kB, kToB);
  EXPECT_FALSE(takeover_.LostHost(map_));
  std::erase_if(map_.members, [](const Member& member) { return member.node == kB; });
  EXPECT_EQ(takeover_.LostHost(map_), kToB);
  takeover_.NoteClosed(kToB);
  EXPECT_FALSE(takeover_.LostHost(map_)) << "there is no one to hear it";
}

TEST_F(TakeoverTest, TheOldLeaseEndsWhenHalfOfTheVotesOweItNothing) {
  Joins(kB, kToB);
  Promised answer = AnswerWith(map_);
  answer.supported_term = 1;
  answer.support_left = seconds(6);
  (void)takeover_.OnPromised(kToB, answer, kStart);
  EXPECT_FALSE(OldLeaseEnded(kStart + seconds(7))) << "one of three";
  Joins(kC, kToC);
  (void)takeover_.OnPromised(kToC, answer, kStart);
  EXPECT_FALSE(OldLeaseEnded(kStart + seconds(5))) << "what they answered may count until then";
  EXPECT_TRUE(OldLeaseEnded(kStart + seconds(6)));
}

TEST_F(TakeoverTest, TheOldLeaseEndsAtOnceWithTheAnswerOfTheServerThatTheOldCoordinatorRanIn) {
  Promised answer = AnswerWith(map_);
  answer.supported_term = 1;
  answer.support_left = seconds(6);
  answer.mirror = record_;
  Joins(kB, kToB);
  Joins(kC, kToC);
  (void)takeover_.OnPromised(kToB, answer, kStart);
  (void)takeover_.OnPromised(kToC, answer, kStart);
  EXPECT_FALSE(OldLeaseEnded(kStart));
  Answers(kA, kToA);
  EXPECT_TRUE(OldLeaseEnded(kStart));
}

TEST_F(TakeoverTest, AVoterThatIsProvenGoneHasNoSayOnceItsLastAnswersCountNoMore) {
  Answers(kB, kToB);
  takeover_.NoteGone(Role::kServer, 2, PodNumberOf(kC), kStart);
  EXPECT_FALSE(OldLeaseEnded(kStart + kLease - Duration(1)));
  EXPECT_TRUE(OldLeaseEnded(kStart + kLease)) << "B is half of A and B";
}

TEST_F(TakeoverTest, SilentMembersGetALeaseOfTimeOnceNoOtherCoordinatorLeads) {
  Answers(kB, kToB, true);
  Answers(kC, kToC);
  takeover_.NoteGone(Role::kServer, 0, PodNumberOf(kA), kStart);
  EXPECT_EQ(Missing(kStart + seconds(60)), Describe(map_, kWorker));
  takeover_.NoteLeads(true, kStart + seconds(60));
  EXPECT_EQ(Missing(kStart + seconds(60) + kLiveness - Duration(1)), Describe(map_, kWorker));
  EXPECT_EQ(Missing(kStart + seconds(60) + kLiveness), "");
  takeover_.NoteLeads(false, kStart + seconds(70));
  EXPECT_EQ(Missing(kStart + seconds(90)), Describe(map_, kWorker)) << "another one may lead again";
  takeover_.NoteLeads(true, kStart + seconds(90));
  takeover_.SkipPause(seconds(5));
  EXPECT_EQ(Missing(kStart + seconds(90) + kLiveness), Describe(map_, kWorker)) << "it stood still for a while";
}

TEST_F(TakeoverTest, MembersThatRowsDependOnAreGivenMoreTime) {
  map_.shards.push_back({.home = kA, .backup = NodeId()});
  Answers(kB, kToB, true);
  Answers(kC, kToC);
  Answers(kWorker, kToWorker);
  takeover_.NoteLeads(true, kStart);
  EXPECT_EQ(Missing(kStart + kLiveness), Describe(map_, kA));
  EXPECT_EQ(Missing(kStart + kUncovered), "");
}

TEST_F(TakeoverTest, TheOldCoordinatorsServerIsNotWaitedForWhenNothingIsHeardOfIt) {
  Answers(kB, kToB, true);
  Answers(kC, kToC);
  Answers(kWorker, kToWorker);
  takeover_.NoteLeads(true, kStart);
  EXPECT_EQ(Missing(kStart + kLease / 3 - Duration(1)), Describe(map_, kA)) << "the change may be an orderly one";
  EXPECT_EQ(Missing(kStart + kLease / 3), "");
  Joins(kA, kToA);
  takeover_.NoteClosed(kToA);
  EXPECT_EQ(Missing(kStart + kLease / 3), Describe(map_, kA)) << "it lives, and comes again";
}

TEST_F(TakeoverTest, AMemberThatHadLeftBeforeTheRecordIsNotWaitedFor) {
  std::erase_if(record_.nodes, [](const auto& node) { return node.node == kWorker; });
  Answers(kA, kToA);
  Answers(kB, kToB, true);
  Answers(kC, kToC);
  takeover_.NoteLeads(true, kStart);
  EXPECT_EQ(Missing(kStart), "");
}

TEST_F(TakeoverTest, WithoutARecordEveryServerIsWaitedFor) {
  Answers(kB, kToB);
  Answers(kC, kToC);
  Answers(kWorker, kToWorker);
  takeover_.NoteLeads(true, kStart);
  EXPECT_EQ(Missing(kStart + kUncovered), Describe(map_, kA)) << "the only copy may be there";
  takeover_.NoteGone(Role::kServer, 0, PodNumberOf(kA), kStart);
  EXPECT_EQ(Missing(kStart + kUncovered), "");
}

TEST_F(TakeoverTest, AllHaveAnsweredAndAMajorityIsMissing) {
  for (const auto& [node, from] : {std::pair(kA, kToA), {kB, kToB}, {kC, kToC}, {kWorker, kToWorker}}) {
    Answers(node, from, node == kB);
  }
  EXPECT_NE(Missing(kStart), "");
  takeover_.NoteLeads(true, kStart);
  EXPECT_EQ(Missing(kStart), "");
}

TEST_F(TakeoverTest, WhatIsMissingIsReportedFromTimeToTimeAndNotAtOnce) {
  EXPECT_FALSE(takeover_.MayReport(kStart));
  EXPECT_FALSE(takeover_.MayReport(kStart + seconds(4)));
  EXPECT_TRUE(takeover_.MayReport(kStart + seconds(5)));
  EXPECT_FALSE(takeover_.MayReport(kStart + seconds(9)));
  EXPECT_TRUE(takeover_.MayReport(kStart + seconds(10)));
}

TEST_F(TakeoverTest, ServersAreAskedAgainAndWorkersUntilTheyAnswer) {
  Answers(kB, kToB);
  Joins(kWorker, kToWorker);
  EXPECT_EQ(takeover_.ToAskAgain().size(), 2U);
  Answers(kWorker, kToWorker);
  ASSERT_EQ(takeover_.ToAskAgain().size(), 1U);
  EXPECT_EQ(takeover_.ToAskAgain()[0].node, kB);
  takeover_.NoteClosed(kToB);
  EXPECT_TRUE(takeover_.ToAskAgain().empty());
}

TEST_F(TakeoverTest, TheLeaseIsConfiguredOncePerMapAndByWhatTheOperatorHasConfirmed) {
  Takeover takeover({.leader_lease = kLease, .confirmed = Voters{.map_version = map_.version, .nodes = {kB}}});
  LeaderLease lease(2, kLease);
  takeover.Configure(map_, lease);
  EXPECT_EQ(takeover.map_version(), map_.version);
  EXPECT_TRUE(lease.Votes(kB));
  EXPECT_FALSE(lease.Votes(kC));
}

}  // namespace
}  // namespace attune::ps::takeover_test
