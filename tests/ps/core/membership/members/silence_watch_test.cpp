#include "ps/core/membership/members/silence_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

#include "tests/ps/core/membership/members/small_job.h"

namespace attune::ps::silence_watch_test {
namespace {

using std::chrono::seconds;
constexpr Duration kUncovered = seconds(30), kPause = seconds(1);

// The coordinator runs in A.
class SilenceWatchTest : public testing::Test {
 protected:
  SilenceWatchTest() {
    for (const NodeId node : {a_, b_, worker_}) HearFrom(node, 0);
    map_.version = MapVersion(1, 1);
    map_.shards = {{.home = a_, .backup = b_}, {.home = b_, .backup = a_}};
  }

  Duration HearFrom(NodeId node, int64_t now) { return silence_.NoteHeard(members_.at(node), node == a_, At(now)); }
  // Every second until then.
  void KeepHearingFrom(NodeId node, int64_t from, int64_t until) {
    for (int64_t now = from; now <= until; ++now) HearFrom(node, now);
  }
  std::set<NodeId> Lost(int64_t now) { return silence_.FindSilent(map_, At(now)).lost; }

  SmallJob job_;
  MemberTable& members_ = job_.members;
  SilenceWatch silence_{members_,
                        {.liveness_lease = kLiveness, .uncovered_timeout = kUncovered, .pause_tolerance = kPause}};
  const NodeId a_ = job_.a, b_ = job_.b, worker_ = job_.worker;
  ShardMap map_;
};

TEST_F(SilenceWatchTest, AMemberThatIsSilentForALeaseIsLost) {
  KeepHearingFrom(b_, 1, 9);
  EXPECT_EQ(Lost(9), std::set<NodeId>());
  EXPECT_EQ(Lost(10), (std::set<NodeId>{a_, worker_})) << "B was heard, and has copies of A's rows";
}

TEST_F(SilenceWatchTest, OneWhoseRowsHaveNoOtherCopyIsGivenMoreTime) {
  map_.shards[1].backup = NodeId();
  KeepHearingFrom(worker_, 1, 10);
  HearFrom(a_, 10);
  EXPECT_EQ(silence_.FindSilent(map_, At(10)).all, std::set<NodeId>{b_});
  EXPECT_EQ(Lost(10), std::set<NodeId>());
  KeepHearingFrom(worker_, 11, 30);
  EXPECT_EQ(Lost(30), std::set<NodeId>{b_}) << "its time is over";
}

TEST_F(SilenceWatchTest, WhileNoneIsHeardItMayBeTheCoordinatorThatIsCutOff) {
  HearFrom(a_, 12);  // its own server
  EXPECT_EQ(silence_.FindSilent(map_, At(12)).all, (std::set<NodeId>{b_, worker_}));
  EXPECT_EQ(Lost(12), std::set<NodeId>());
}

TEST_F(SilenceWatchTest, ThoseThatComeBackLaterThanTheFirstWereNoMoreSilentThanThatOne) {
  EXPECT_EQ(HearFrom(worker_, 12), seconds(12) - kPause);
  EXPECT_EQ(silence_.FindSilent(map_, At(12)).all, std::set<NodeId>());
  EXPECT_EQ(HearFrom(b_, 12), Duration::zero());
}

// Seed 669563996356 of whole jobs: the only other worker left and joined again every 1.06 s, and each time the gap was
// forgiven to the one that had died, too.
TEST_F(SilenceWatchTest, OneThatIsNeverHeardIsLostThoughThereIsAGapBeforeEachTimeThatAnotherIs) {
  int64_t now = 0;
  while (now < 100 && Lost(now).empty()) HearFrom(worker_, now += 2);
  EXPECT_EQ(Lost(now), (std::set<NodeId>{a_, b_})) << "neither is ever heard";
  EXPECT_EQ(now, 2 * (kUncovered / kPause)) << "each gap of two seconds counts as one";
}

TEST_F(SilenceWatchTest, TimeInWhichTheCoordinatorStoodStillIsNoSilence) {
  silence_.SkipPause(seconds(60), At(60));
  EXPECT_EQ(silence_.FindSilent(map_, At(60)).all, std::set<NodeId>());
  EXPECT_EQ(silence_.FindSilent(map_, At(70)).all, (std::set<NodeId>{a_, b_, worker_}));
}

TEST_F(SilenceWatchTest, ThePlatformsWordCountsOnceNothingHasBeenHeardForAMoment) {
  EXPECT_FALSE(silence_.NoteSaidGone(Role::kServer, 1, 999, At(1))) << "that process was replaced";
  EXPECT_TRUE(silence_.NoteSaidGone(Role::kServer, 1, kPodOfB, At(1)));
  EXPECT_TRUE(silence_.SaidGone(At(2)).empty()) << "its connection is there";
  EXPECT_EQ(silence_.SaidGone(At(3)), std::vector<NodeId>{b_});
  HearFrom(b_, 3);
  EXPECT_TRUE(silence_.SaidGone(At(9)).empty()) << "the word was about another process";
  EXPECT_TRUE(silence_.NoteSaidGone(Role::kServer, 1, kPodOfB, At(9)));
  members_.Close(kToB);
  EXPECT_EQ(silence_.SaidGone(At(9)), std::vector<NodeId>{b_}) << "its very process is named, and it is not there";
}

}  // namespace
}  // namespace attune::ps::silence_watch_test
