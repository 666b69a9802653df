#include "ps/core/membership/leader_lease.h"

#include <gtest/gtest.h>

#include "ps/core/membership/support_given.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps::leader_lease_test {
namespace {

constexpr NodeId kA{1}, kB{2}, kC{3}, kD{4};
constexpr Duration kLease = std::chrono::seconds(10);  // an answer counts for 9 s of it: clocks may differ
constexpr Duration kTimeout = std::chrono::seconds(20);
constexpr MonotonicTime At(int64_t seconds) { return MonotonicTime{} + std::chrono::seconds(seconds); }

class LeaderLeaseTest : public testing::Test {
 protected:
  void Supports(NodeId voter, int64_t asked_at, MapVersion knows = MapVersion(1, 0)) {
    lease_.OnAnswer(voter, lease_.Ask(voter, At(asked_at)), knows);
  }
  void Configure(uint32_t version, std::vector<NodeId> nodes) {
    lease_.Configure({.map_version = MapVersion(1, version), .nodes = std::move(nodes)});
  }

  LeaderLease lease_{1, kLease};
};

TEST_F(LeaderLeaseTest, BeforeAnyMapThereIsNothingToActOn) {
  EXPECT_TRUE(lease_.Held(At(0)));
  EXPECT_TRUE(lease_.configurations().empty());
}

TEST_F(LeaderLeaseTest, TheOnlyServerIsItsOwnMajority) {
  Configure(1, {kA});
  EXPECT_FALSE(lease_.Held(At(0)));
  Supports(kA, 0);
  EXPECT_TRUE(lease_.Held(At(8)));
  EXPECT_FALSE(lease_.Held(At(9)));
}

TEST_F(LeaderLeaseTest, HalfOfTheVotersAreNoMajority) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  EXPECT_FALSE(lease_.Held(At(0)));
  Supports(kB, 0);
  EXPECT_TRUE(lease_.Held(At(0)));
}

TEST_F(LeaderLeaseTest, ItEndsWithTheSupportOfTheMajorityAndNotOfTheLastVoter) {
  Configure(1, {kA, kB, kC});
  Supports(kA, 5);
  Supports(kB, 3);
  Supports(kC, 0);
  EXPECT_EQ(lease_.ends(), At(12)) << "A and B support it until then";
}

TEST_F(LeaderLeaseTest, AnAnswerCountsFromTheQuestionHoweverLateItComes) {
  Configure(1, {kA});
  const uint64_t question = lease_.Ask(kA, At(0));
  // Answered, or handled, only after 8 s: a process stood still.
  lease_.OnAnswer(kA, question, MapVersion(1, 1));
  EXPECT_EQ(lease_.ends(), At(9));
}

TEST_F(LeaderLeaseTest, AnswersToOlderQuestionsAndUnknownNumbersLengthenNothing) {
  Configure(1, {kA});
  const uint64_t first = lease_.Ask(kA, At(0));
  const uint64_t second = lease_.Ask(kA, At(4));
  lease_.OnAnswer(kA, second, MapVersion(1, 1));
  EXPECT_EQ(lease_.ends(), At(13));
  lease_.OnAnswer(kA, first, MapVersion(1, 1));
  lease_.OnAnswer(kA, second + 1000, MapVersion(1, 1));
  lease_.OnAnswer(kB, 7, MapVersion(1, 1));
  EXPECT_EQ(lease_.ends(), At(13));
}

TEST_F(LeaderLeaseTest, WhileEitherMapMayBeTheNewestOneKnownBothMajoritiesCount) {
  Configure(1, {kA, kB, kC});
  for (const NodeId node : {kA, kB, kC}) Supports(node, 0);
  Configure(2, {kA, kD});
  EXPECT_FALSE(lease_.Held(At(1))) << "D has said nothing";
  Supports(kD, 1, MapVersion(1, 2));
  EXPECT_TRUE(lease_.Held(At(1)));
  EXPECT_EQ(lease_.ends(), At(9)) << "only A of the old voters knows the new map";
  Supports(kA, 5, MapVersion(1, 2));
  Supports(kB, 1, MapVersion(1, 2));
  EXPECT_EQ(lease_.ends(), At(10)) << "A and B know it: the old voters count no more, and D answered at 1 s";
}

TEST_F(LeaderLeaseTest, AConfirmationReplacesWhatIsNotNewer) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  EXPECT_FALSE(lease_.Held(At(1)));
  EXPECT_TRUE(lease_.Confirm({.map_version = MapVersion(1, 1), .nodes = {kA}}));
  EXPECT_TRUE(lease_.Held(At(1)));
  EXPECT_TRUE(lease_.Votes(kA));
  EXPECT_FALSE(lease_.Votes(kB));
}

TEST_F(LeaderLeaseTest, AConfirmationForAnOlderMapDoesNotReplaceANewerOne) {
  Configure(3, {kA, kB});
  Supports(kA, 0);
  EXPECT_FALSE(lease_.Confirm({.map_version = MapVersion(1, 2), .nodes = {kA}}));
  EXPECT_FALSE(lease_.Held(At(1)));
}

TEST_F(LeaderLeaseTest, ASuccessorNeedsTheMajoritiesThatTheCoordinatorBeforeNeeded) {
  lease_.Adopt(
      {{.map_version = MapVersion(1, 1), .nodes = {kA, kB}}, {.map_version = MapVersion(1, 2), .nodes = {kA, kB, kC}}});
  Supports(kB, 0);
  Supports(kC, 0);
  EXPECT_FALSE(lease_.Held(At(1))) << "A and B may have gone on with the map before C joined";
  Supports(kB, 1, MapVersion(1, 2));
  Supports(kA, 1, MapVersion(1, 2));
  EXPECT_TRUE(lease_.Held(At(1)));
  EXPECT_EQ(lease_.configurations().size(), 1u) << "what A and B know supersedes it";
}

TEST_F(LeaderLeaseTest, WhatTheOperatorHasConfirmedHoldsForANewerMapThatIsFoundLater) {
  lease_.Adopt({{.map_version = MapVersion(1, 1), .nodes = {kA, kB}}});
  EXPECT_TRUE(lease_.Confirm({.map_version = MapVersion(1, 1), .nodes = {kB}}));
  lease_.Adopt(
      {{.map_version = MapVersion(1, 1), .nodes = {kA, kB}}, {.map_version = MapVersion(1, 3), .nodes = {kB, kC}}});
  Supports(kB, 0);
  EXPECT_FALSE(lease_.Held(At(1))) << "nothing is recorded about the voters of the newer map";
  Supports(kC, 0);
  EXPECT_TRUE(lease_.Held(At(1))) << "A is not needed";
}

TEST_F(LeaderLeaseTest, AMapNamesABoundedNumberOfVoterSets) {
  for (uint32_t version = 1; version < 100; ++version) Configure(version, {kA, NodeId(1 + version)});
  EXPECT_EQ(lease_.configurations().size(), kVoterSetsMax);
}

// Servers A and B on one machine, C on another, as the coordinator of a job with three servers has it when a machine is
// lost: the one that is left is half, so that the operator can decide.
TEST_F(LeaderLeaseTest, EveryMachineHasAsManyVotesHoweverManyServersItHas) {
  lease_.Configure(
      WithVotes({.map_version = MapVersion(1, 1), .nodes = {kA, kB, kC}}, {{kA, "one"}, {kB, "one"}, {kC, "two"}}));
  Supports(kA, 0);
  Supports(kC, 0);
  EXPECT_TRUE(lease_.Held(At(1))) << "a server of the larger machine may be lost";
  EXPECT_TRUE(lease_.HeldWithout({kB}, At(1)));
  EXPECT_FALSE(lease_.HeldWithout({kC}, At(1)));
  EXPECT_EQ(lease_.Wanted({kA, kB, kC}, At(1), kTimeout), std::vector<NodeId>{}) << "it has a majority";
  EXPECT_EQ(lease_.Wanted({kA, kB, kC}, At(8), kTimeout), std::vector<NodeId>{}) << "no voter is fresh";
  Supports(kC, 8);
  EXPECT_FALSE(lease_.HeldWithout({kA, kB}, At(9)));
  EXPECT_EQ(lease_.Wanted({kA, kB, kC}, At(9), kTimeout), std::vector<NodeId>{kC}) << "one of two machines is half";
}

TEST(VotesTest, AreOneEachWhereMachinesAreNotKnownOrHaveAsManyServers) {
  const Voters voters{.map_version = MapVersion(1, 1), .nodes = {kA, kB, kC, kD}};
  EXPECT_EQ(WithVotes(voters, {}), voters);
  EXPECT_EQ(WithVotes(voters, {{kA, ""}, {kB, ""}, {kC, "one"}, {kD, "two"}}), voters);
  EXPECT_EQ(WithVotes(voters, {{kA, "one"}, {kB, "one"}, {kC, "two"}, {kD, "two"}}), voters);
  EXPECT_EQ(WithVotes(voters, {{kA, "one"}, {kB, "one"}, {kC, "one"}, {kD, "one"}}), voters);
  const Voters uneven = WithVotes(voters, {{kA, "one"}, {kB, "one"}, {kC, "one"}, {kD, "two"}});
  ASSERT_EQ(uneven.votes.size(), 4U);
  EXPECT_EQ(uneven.votes[0] + uneven.votes[1] + uneven.votes[2], uneven.votes[3]);
}

TEST_F(LeaderLeaseTest, AServerThatIsProvenGoneCountsNeitherForNorAgainst) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  lease_.Exclude(kB);
  EXPECT_TRUE(lease_.Held(At(1)));
}

TEST_F(LeaderLeaseTest, AServerHasHalfOfTheVotesWhereTheOthersAreNoMajorityWithoutIt) {
  EXPECT_FALSE(lease_.HasHalfOfTheVotes(kA)) << "before any map";
  Configure(1, {kA, kB});
  EXPECT_TRUE(lease_.HasHalfOfTheVotes(kB)) << "one of two";
  EXPECT_FALSE(lease_.HasHalfOfTheVotes(kD)) << "not a voter";
  Configure(2, {kA, kB, kC});
  EXPECT_FALSE(lease_.HasHalfOfTheVotes(kB)) << "one of three";
  lease_.Exclude(kC);
  EXPECT_TRUE(lease_.HasHalfOfTheVotes(kB)) << "the third one is proven gone";
  EXPECT_FALSE(lease_.HasHalfOfTheVotes(kC)) << "itself proven gone";
}

TEST_F(LeaderLeaseTest, TheOnlyServerOfOneOfTwoMachinesHasHalfOfTheVotes) {
  const Voters voters{.map_version = MapVersion(1, 1), .nodes = {kA, kB, kC}};
  lease_.Configure(WithVotes(voters, {{kA, "one"}, {kB, "one"}, {kC, "two"}}));
  EXPECT_TRUE(lease_.HasHalfOfTheVotes(kC));
  EXPECT_FALSE(lease_.HasHalfOfTheVotes(kA));
  lease_.Exclude(kB);
  EXPECT_FALSE(lease_.HasHalfOfTheVotes(kA)) << "the vote of B does not pass to A";
  EXPECT_TRUE(lease_.HasHalfOfTheVotes(kC));
}

TEST_F(LeaderLeaseTest, AServerIsDeclaredLostOnlyByAMajorityWithoutItsOwnLastAnswer) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  Supports(kB, 0);
  EXPECT_TRUE(lease_.Held(At(5)));
  EXPECT_FALSE(lease_.HeldWithout({kB}, At(5))) << "B may have promised to obey another one since";
  Configure(2, {kA, kB, kC});
  Supports(kA, 4, MapVersion(1, 2));
  Supports(kB, 4, MapVersion(1, 2));
  Supports(kC, 4, MapVersion(1, 2));
  EXPECT_TRUE(lease_.HeldWithout({kB}, At(5)));
  EXPECT_FALSE(lease_.HeldWithout({kB, kC}, At(5)));
}

TEST_F(LeaderLeaseTest, HalfOfTheVotersMayAskToBeConfirmedSoonAndFewerOnlyAfterLong) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  Supports(kB, 0);
  EXPECT_TRUE(lease_.Wanted({kA, kB}, At(4), kTimeout).empty());
  Supports(kA, 5);
  EXPECT_EQ(lease_.Wanted({kA, kB}, At(6), kTimeout), std::vector{kA}) << "before the lease ends";
  Configure(2, {kA, kB, kC, kD});
  EXPECT_TRUE(lease_.Wanted({kA, kB, kC, kD}, At(7), kTimeout).empty()) << "a majority may be elsewhere";
  Supports(kA, 27);
  EXPECT_EQ(lease_.Wanted({kA, kB, kC, kD}, At(28), kTimeout), std::vector{kA});
}

TEST(SupportGivenTest, WhatAnEarlierCoordinatorMayCountOnRunsOutOneLeaseAfterItsLastQuestion) {
  SupportGiven support;
  support.OnQuestion(1, 11, kLease, At(0));
  EXPECT_EQ(support.number(), 11u);
  EXPECT_EQ(support.FormerLeft(At(1)), Duration::zero());
  support.OnQuestion(2, 21, kLease, At(4));
  EXPECT_EQ(support.FormerTerm(At(4)), 1u);
  EXPECT_EQ(support.FormerLeft(At(4)), std::chrono::seconds(6));
  support.OnQuestion(1, 12, kLease, At(5));
  EXPECT_EQ(support.number(), 21u) << "the earlier one is obeyed no more";
  support.OnQuestion(3, 31, kLease, At(6));
  EXPECT_EQ(support.FormerTerm(At(6)), 0u) << "of several";
  EXPECT_EQ(support.FormerLeft(At(6)), std::chrono::seconds(8));
  EXPECT_EQ(support.FormerLeft(At(20)), Duration::zero());
}

TEST(SupportGivenTest, AMapOfACoordinatorSaysThatThoseBeforeItHaveEnded) {
  SupportGiven support;
  support.OnQuestion(1, 11, kLease, At(0));
  support.OnQuestion(2, 21, kLease, At(1));
  support.OnMap(2);
  EXPECT_EQ(support.FormerLeft(At(2)), Duration::zero());
  support.OnQuestion(3, 31, kLease, At(3));
  EXPECT_EQ(support.FormerTerm(At(3)), 2u);
}

TEST(SupportGivenTest, AWorkerIsAskedNothing) {
  SupportGiven support;
  support.OnQuestion(1, 0, Duration::zero(), At(0));
  EXPECT_EQ(support.number(), 0u);
}

}  // namespace
}  // namespace attune::ps::leader_lease_test
