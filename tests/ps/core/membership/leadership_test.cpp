#include "ps/core/membership/leadership.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "ps/core/protocol/incarnation.h"

namespace attune::ps::leadership_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kA{1}, kB{2}, kC{3};  // servers 0, 1 and 2
constexpr Duration kLease = seconds(10), kLiveness = seconds(6);
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + seconds(time); }

// The coordinator runs in A.
class LeadershipTest : public testing::Test {
 protected:
  static Leadership::Options Options() {
    return {.term = 1,
            .host_index = 0,
            .leader_lease = kLease,
            .liveness_lease = kLiveness,
            .uncovered_timeout = seconds(20)};
  }
  LeadershipTest() {
    map_.version = MapVersion(1, 0);
    for (const NodeId node : {kA, kB, kC}) {
      map_.members.push_back({.node = node,
                              .role = Role::kServer,
                              .index = node.value() - 1,
                              .incarnation = NewIncarnation(100 + node.value(), 1)});
    }
    Publish(0);
  }
  void Publish(int64_t now) {
    map_.version = map_.version.Next();
    leadership_.AssignVotes(map_, At(now));
  }
  void Supports(NodeId node, int64_t now) {
    leadership_.OnSupport(node, leadership_.Ask(node, Role::kServer, At(now)).number, map_.version, At(now));
  }
  void AllSupport(int64_t now) {
    for (const NodeId node : {kA, kB, kC}) Supports(node, now);
  }
  std::vector<NodeId> Voters() const { return map_.voters.back().nodes; }

  ShardMap map_;
  Leadership leadership_{Options()};
};

TEST_F(LeadershipTest, WithoutASuccessorThereIsNothingToAsk) {
  Leadership::Options options = Options();
  options.may_be_followed = false;
  Leadership alone(options);
  ShardMap map = map_;
  alone.AssignVotes(map, At(0));
  EXPECT_TRUE(map.voters.empty());
  EXPECT_TRUE(alone.Held(At(1000)));
  EXPECT_TRUE(alone.MayLose({kA, kB, kC}, At(1000)));
  EXPECT_EQ(alone.Ask(kA, Role::kServer, At(0)).number, 0U);
  EXPECT_EQ(alone.GrantedLiveness(At(1000)), kLiveness);
  EXPECT_FALSE(alone.NeedsOtherVoters(map_, At(0)));
}

TEST_F(LeadershipTest, OnlyServersAreAsked) {
  EXPECT_EQ(leadership_.Ask(kB, Role::kWorker, At(0)).number, 0U);
  const SupportQuestion question = leadership_.Ask(kB, Role::kServer, At(0));
  EXPECT_NE(question.number, 0U);
  EXPECT_EQ(question.lasts, kLease);
}

TEST_F(LeadershipTest, AChangeIsNotedOnceAndGrantsEndWithTheLease) {
  EXPECT_EQ(leadership_.NoteHeld(At(0)), false);
  EXPECT_TRUE(leadership_.suspended());
  EXPECT_FALSE(leadership_.NoteHeld(At(0)));
  EXPECT_EQ(leadership_.GrantedLiveness(At(0)), Duration::zero());
  AllSupport(0);
  EXPECT_EQ(leadership_.NoteHeld(At(0)), true);
  EXPECT_EQ(leadership_.GrantedLiveness(At(0)), kLiveness);
  EXPECT_EQ(leadership_.GrantedLiveness(At(5)), seconds(4)) << "an answer counts for 9 s of the lease";
  EXPECT_TRUE(leadership_.MayLose({kB}, At(0)));
  EXPECT_FALSE(leadership_.MayLose({kB, kC}, At(0)));
}

TEST_F(LeadershipTest, AServerThatLeavesGivesItsVoteUpAndASilentOneKeepsIt) {
  AllSupport(0);
  map_.members[2].leaving = true;
  Publish(8);
  EXPECT_EQ(Voters(), (std::vector<NodeId>{kA, kB}));
}

TEST_F(LeadershipTest, AServerThatIsProvenGoneLosesItsVoteThoughItIsAMemberStill) {
  AllSupport(0);
  EXPECT_TRUE(leadership_.Exclude(kC));
  Publish(8);
  EXPECT_EQ(Voters(), (std::vector<NodeId>{kA, kB}));
}

TEST_F(LeadershipTest, AJoiningServerVotesFromWhenItSupportsTheCoordinator) {
  AllSupport(0);
  Publish(0);
  AllSupport(0);
  EXPECT_FALSE(leadership_.NeedsOtherVoters(map_, At(0)));
  constexpr NodeId kD{4};
  map_.members.push_back({.node = kD, .role = Role::kServer, .index = 3});
  EXPECT_FALSE(leadership_.NeedsOtherVoters(map_, At(0)));
  Supports(kD, 0);
  EXPECT_TRUE(leadership_.NeedsOtherVoters(map_, At(0)));
  Publish(0);
  EXPECT_EQ(Voters().back(), kD);
}

TEST_F(LeadershipTest, VotersThatAreMembersNoMoreAreKeptUntilNoMapNamesThem) {
  AllSupport(0);
  const Member gone = map_.members[2];
  map_.members.pop_back();
  leadership_.NoteGone(gone, map_);
  Publish(0);
  ASSERT_EQ(map_.former_voters, std::vector<Member>{gone});
  EXPECT_TRUE(Leadership::MayVote(kC, map_)) << "until a majority knows the map without it";
  Supports(kA, 1);
  Supports(kB, 1);
  Publish(1);
  EXPECT_TRUE(map_.former_voters.empty());
  EXPECT_FALSE(Leadership::MayVote(kC, map_));
}

TEST_F(LeadershipTest, AFormerVoterIsExcludedByItsVeryProcess) {
  AllSupport(0);
  leadership_.KeepAsFormerVoter(map_.members[1]);
  leadership_.KeepAsFormerVoter(map_.members[2]);
  leadership_.ExcludeFormerVoter(Role::kServer, 2, 0);
  leadership_.ExcludeFormerVoter(Role::kServer, 2, 900);
  leadership_.ExcludeFormerVoter(Role::kWorker, 2, 103);
  EXPECT_FALSE(leadership_.lease().IsExcluded(kC)) << "it may live";
  leadership_.ExcludeFormerVoter(Role::kServer, 2, 103);
  EXPECT_TRUE(leadership_.lease().IsExcluded(kC));
  EXPECT_FALSE(leadership_.lease().IsExcluded(kB));
}

TEST_F(LeadershipTest, TheCopyOfTheRecordGoesToAVoterOnAnotherMachine) {
  MemberTable members(Duration::zero());
  for (const uint32_t index : {0, 1, 2}) {
    members.Admit({.incarnation = 100 + index, .role = Role::kServer, .index = index}, ConnectionId(index));
  }
  const auto host = [&] { return leadership_.MirrorHost(members, map_)->member.node; };
  EXPECT_EQ(host(), kB) << "the first one by index";
  members.at(kA).member.machine = members.at(kB).member.machine = "one";
  EXPECT_EQ(host(), kC) << "a machine may be lost as a whole";
  members.at(kC).member.leaving = true;
  EXPECT_EQ(host(), kC) << "it is there yet";
  members.at(kC).lost = true;
  EXPECT_EQ(host(), kB) << "there is no other";
  map_.version = MapVersion();
  EXPECT_EQ(leadership_.MirrorHost(members, map_), nullptr);
}

TEST_F(LeadershipTest, AServerThatDoesNotVoteYetGetsTheCopyLast) {
  map_.members.erase(map_.members.begin() + 1);
  Leadership without_b(Options());
  without_b.AssignVotes(map_, At(0));
  MemberTable members(Duration::zero());
  for (const uint32_t index : {0, 1, 2}) {
    members.Admit({.incarnation = 100 + index, .role = Role::kServer, .index = index}, ConnectionId(index));
  }
  EXPECT_EQ(without_b.MirrorHost(members, map_)->member.node, kC);
}

TEST_F(LeadershipTest, AConfirmationIsWantedWithThoseThatSupportItWhenAMajorityIsMissing) {
  AllSupport(0);
  leadership_.WantConfirmation(map_, false, At(0));
  EXPECT_TRUE(leadership_.wanted().empty());
  Supports(kA, 40);
  leadership_.WantConfirmation(map_, false, At(40));
  EXPECT_TRUE(leadership_.wanted().empty()) << "others may come";
  Supports(kA, 60);
  leadership_.WantConfirmation(map_, false, At(60));
  EXPECT_EQ(leadership_.wanted(), std::vector<NodeId>{kA});
  EXPECT_EQ(leadership_.wanted_map(), map_.version);
  leadership_.WantConfirmation(map_, true, At(60));
  EXPECT_TRUE(leadership_.wanted().empty()) << "the job is finished";
}

TEST_F(LeadershipTest, ATakeoverIsConfirmedOnlyOnceNoEarlierCoordinatorLeads) {
  map_.members.pop_back();
  Leadership next({.term = 2, .host_index = 0, .leader_lease = kLease});
  next.lease().Adopt({{.map_version = map_.version, .nodes = {kA, kB}}});
  next.OnSupport(kA, next.Ask(kA, Role::kServer, At(0)).number, map_.version, At(0));
  const auto has_answered = [](NodeId node) { return node == kA; };
  next.WantConfirmationOfTakeover(map_, false, has_answered, At(0));
  EXPECT_TRUE(next.wanted().empty());
  next.WantConfirmationOfTakeover(map_, true, has_answered, At(0));
  EXPECT_EQ(next.wanted(), std::vector<NodeId>{kA});
}

}  // namespace
}  // namespace attune::ps::leadership_test
