#include "ps/core/membership/member_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "ps/core/protocol/incarnation.h"

namespace attune::ps {
namespace {

using std::chrono::seconds;
constexpr ConnectionId kToA{11}, kToB{12}, kToWorker{13}, kLater{14};
constexpr Duration kLiveness = seconds(10), kUncovered = seconds(30), kPause = seconds(1);
constexpr uint32_t kPodOfB = 102;
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + seconds(time); }

// Two servers and a worker; the coordinator runs in A.
class MemberTableTest : public testing::Test {
 protected:
  MemberTableTest() {
    a_ = members_.Admit(JoinOf(Role::kServer, 0, 101), kToA).member.node;
    b_ = members_.Admit(JoinOf(Role::kServer, 1, kPodOfB), kToB).member.node;
    worker_ = members_.Admit(JoinOf(Role::kWorker, 0, 201), kToWorker).member.node;
    for (const NodeId node : {a_, b_, worker_}) HearFrom(node, 0);
    map_.version = MapVersion(1, 1);
    map_.shards = {{.home = a_, .backup = b_}, {.home = b_, .backup = a_}};
  }

  static Join JoinOf(Role role, uint32_t index, uint32_t pod) {
    return {.incarnation = NewIncarnation(pod, 1), .role = role, .index = index};
  }
  Duration HearFrom(NodeId node, int64_t now) { return members_.NoteHeard(members_.at(node), node == a_, At(now)); }
  // Every second until then.
  void KeepHearingFrom(NodeId node, int64_t from, int64_t until) {
    for (int64_t now = from; now <= until; ++now) HearFrom(node, now);
  }
  std::set<NodeId> Lost(int64_t now) { return members_.FindSilent(map_, At(now)).lost; }

  MemberTable members_{{.liveness_lease = kLiveness, .uncovered_timeout = kUncovered, .pause_tolerance = kPause}};
  NodeId a_, b_, worker_;
  ShardMap map_;
};

TEST_F(MemberTableTest, NumbersAreNeverGivenTwice) {
  members_.Remove(worker_, OkStatus(), At(0));
  EXPECT_EQ(members_.Find(worker_), nullptr);
  EXPECT_EQ(members_.next(), worker_.Next());
  members_.ReserveBelow(NodeId(20));
  members_.ReserveBelow(NodeId(10));
  EXPECT_EQ(members_.Admit(JoinOf(Role::kWorker, 0, 202), kLater).member.node, NodeId(20));
}

TEST_F(MemberTableTest, AProcessThatReturnsSpeaksOverItsNewConnection) {
  MemberState* b = members_.FindProcess(NewIncarnation(kPodOfB, 1));
  ASSERT_NE(b, nullptr);
  members_.Attach(*b, kLater);
  EXPECT_EQ(members_.NodeAt(kLater), b_);
  EXPECT_FALSE(members_.NodeAt(kToB));
  members_.Close(kToB);
  EXPECT_EQ(b->connection, kLater) << "that was the old one";
  members_.Close(kLater);
  EXPECT_FALSE(b->connection);
}

TEST_F(MemberTableTest, AMemberThatIsSilentForALeaseIsLost) {
  KeepHearingFrom(b_, 1, 9);
  EXPECT_EQ(Lost(9), std::set<NodeId>());
  EXPECT_EQ(Lost(10), (std::set<NodeId>{a_, worker_})) << "B was heard, and has copies of A's rows";
}

TEST_F(MemberTableTest, OneWhoseRowsHaveNoOtherCopyIsGivenMoreTime) {
  map_.shards[1].backup = NodeId();
  KeepHearingFrom(worker_, 1, 10);
  HearFrom(a_, 10);
  EXPECT_EQ(members_.FindSilent(map_, At(10)).all, std::set<NodeId>{b_});
  EXPECT_EQ(Lost(10), std::set<NodeId>());
  KeepHearingFrom(worker_, 11, 30);
  EXPECT_EQ(Lost(30), std::set<NodeId>{b_}) << "its time is over";
}

TEST_F(MemberTableTest, WhileNoneIsHeardItMayBeTheCoordinatorThatIsCutOff) {
  HearFrom(a_, 12);  // its own server
  EXPECT_EQ(members_.FindSilent(map_, At(12)).all, (std::set<NodeId>{b_, worker_}));
  EXPECT_EQ(Lost(12), std::set<NodeId>());
}

TEST_F(MemberTableTest, ThoseThatComeBackLaterThanTheFirstWereNoMoreSilentThanThatOne) {
  EXPECT_EQ(HearFrom(worker_, 12), seconds(12) - kPause);
  EXPECT_EQ(members_.FindSilent(map_, At(12)).all, std::set<NodeId>());
  EXPECT_EQ(HearFrom(b_, 12), Duration::zero());
}

// Seed 669563996356 of whole jobs: the only other worker left and joined again every 1.06 s, and each time the gap was
// forgiven to the one that had died, too.
TEST_F(MemberTableTest, OneThatIsNeverHeardIsLostThoughThereIsAGapBeforeEachTimeThatAnotherIs) {
  int64_t now = 0;
  while (now < 100 && Lost(now).empty()) HearFrom(worker_, now += 2);
  EXPECT_EQ(Lost(now), (std::set<NodeId>{a_, b_})) << "neither is ever heard";
  EXPECT_EQ(now, 2 * (kUncovered / kPause)) << "each gap of two seconds counts as one";
}

TEST_F(MemberTableTest, TimeInWhichTheCoordinatorStoodStillIsNoSilence) {
  members_.SkipPause(seconds(60), At(60));
  EXPECT_EQ(members_.FindSilent(map_, At(60)).all, std::set<NodeId>());
  EXPECT_EQ(members_.FindSilent(map_, At(70)).all, (std::set<NodeId>{a_, b_, worker_}));
}

TEST_F(MemberTableTest, ThePlatformsWordCountsOnceNothingHasBeenHeardForAMoment) {
  EXPECT_FALSE(members_.NoteSaidGone(Role::kServer, 1, 999, At(1))) << "that process was replaced";
  EXPECT_TRUE(members_.NoteSaidGone(Role::kServer, 1, kPodOfB, At(1)));
  EXPECT_TRUE(members_.SaidGone(At(2)).empty()) << "its connection is there";
  EXPECT_EQ(members_.SaidGone(At(3)), std::vector<NodeId>{b_});
  HearFrom(b_, 3);
  EXPECT_TRUE(members_.SaidGone(At(9)).empty()) << "the word was about another process";
  EXPECT_TRUE(members_.NoteSaidGone(Role::kServer, 1, kPodOfB, At(9)));
  members_.Close(kToB);
  EXPECT_EQ(members_.SaidGone(At(9)), std::vector<NodeId>{b_}) << "its very process is named, and it is not there";
}

TEST_F(MemberTableTest, TheLastServerStaysUntilItIsBackOrReplaced) {
  EXPECT_FALSE(members_.without_server());
  members_.NoteLastServerLost(members_.at(a_), At(5));
  EXPECT_TRUE(members_.without_server());
  EXPECT_FALSE(members_.WithoutServerFor(seconds(60), At(64)));
  EXPECT_TRUE(members_.WithoutServerFor(seconds(60), At(65)));
  EXPECT_TRUE(members_.NoteBack(members_.at(a_)));
  EXPECT_FALSE(members_.NoteBack(members_.at(a_)));
  EXPECT_FALSE(members_.without_server());
  members_.NoteLastServerLost(members_.at(a_), At(70));
  EXPECT_EQ(members_.TakeLostServers(), std::vector<NodeId>{a_});
  EXPECT_FALSE(members_.without_server());
}

TEST_F(MemberTableTest, StepsOfThoseThatAreGoneCount) {
  members_.at(worker_).last.steps = 7;
  members_.AddStepsOfGone(5);
  EXPECT_EQ(members_.TotalSteps(), 12U);
}

TEST_F(MemberTableTest, OnlyWhatAReportAddsCounts) {
  MemberState& b = members_.at(b_);
  const auto first = members_.OnRows(b, {.number = 2, .rows_received = 100, .rows_restored = 3});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rows_restored, 3U);
  EXPECT_EQ(members_.rows_moved(), 0U) << "it may have received them under another coordinator";
  EXPECT_FALSE(members_.OnRows(b, {.number = 2, .rows_received = 200})) << "a late copy";
  const auto second =
      members_.OnRows(b, {.number = 3, .rows_held = 40, .rows_to_come = 2, .rows_received = 130, .rows_restored = 3});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->rows_restored, 0U);
  EXPECT_EQ(members_.rows_moved(), 30U);
  EXPECT_EQ(members_.RowsOfAll().held, 40U);
  EXPECT_EQ(members_.RowsOfAll().to_come, 2U);
}

TEST_F(MemberTableTest, AllAreReadyWhenTheirShardsAreCompleteUnderTheMap) {
  EXPECT_FALSE(members_.AllReady(map_));
  (void)members_.OnRows(members_.at(a_), {.number = 1, .map_version = map_.version});
  (void)members_.OnRows(members_.at(b_), {.number = 1, .map_version = map_.version, .shards_not_ready = 1});
  EXPECT_FALSE(members_.AllReady(map_));
  (void)members_.OnRows(members_.at(b_), {.number = 2, .map_version = map_.version});
  EXPECT_TRUE(members_.AllReady(map_)) << "a worker without rows says nothing";
  EXPECT_FALSE(MemberTable::IsEmpty(members_.at(b_), map_)) << "the map names it";
  map_.shards = {{.home = a_, .backup = NodeId()}};
  EXPECT_TRUE(MemberTable::IsEmpty(members_.at(b_), map_));
}

TEST_F(MemberTableTest, OneThatOnlyAnEarlierCoordinatorKnewWaitsInVain) {
  constexpr NodeId kFormer{3000};
  Join join = JoinOf(Role::kWorker, 4, 300);
  join.node = kFormer;
  members_.ForgetFormer(kLater, join, At(0));
  EXPECT_EQ(members_.NodeAt(kLater), kFormer);
  EXPECT_EQ(members_.gone().NodeOf(join.incarnation), kFormer);
  EXPECT_FALSE(members_.WaitsInVain(kFormer, At(9)));
  EXPECT_TRUE(members_.WaitsInVain(kFormer, At(10)));
  EXPECT_FALSE(members_.WaitsInVain(worker_, At(10)));
}

TEST_F(MemberTableTest, TheConnectionsOfThoseThatAreForgottenAreClosed) {
  members_.Remove(worker_, OkStatus(), At(0));
  EXPECT_TRUE(members_.Expire(At(60)).empty()) << "it may ask whether its last words have arrived";
  EXPECT_EQ(members_.Expire(At(3 * 3600)), std::vector<ConnectionId>{kToWorker});
  EXPECT_FALSE(members_.NodeAt(kToWorker));
}

}  // namespace
}  // namespace attune::ps
