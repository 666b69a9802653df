#include "ps/core/membership/office.h"

#include <gtest/gtest.h>

#include "ps/core/membership/support_given.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr NodeId kA{1}, kB{2}, kC{3}, kD{4};
constexpr Duration kLease = std::chrono::seconds(10);  // an answer counts for 9 s of it: clocks may differ
constexpr Duration kPatience = std::chrono::seconds(20);
constexpr MonotonicTime At(int64_t seconds) { return MonotonicTime{} + std::chrono::seconds(seconds); }

class OfficeTest : public testing::Test {
 protected:
  void Supports(NodeId voter, int64_t asked_at, MapVersion knows = MapVersion(1, 0)) {
    office_.OnAnswer(voter, office_.Ask(voter, At(asked_at)), knows);
  }
  void Configure(uint32_t version, std::vector<NodeId> nodes) {
    office_.Configure({.map_version = MapVersion(1, version), .nodes = std::move(nodes)});
  }

  Office office_{1, kLease};
};

TEST_F(OfficeTest, BeforeAnyMapThereIsNothingToActOn) {
  EXPECT_TRUE(office_.Held(At(0)));
  EXPECT_TRUE(office_.configurations().empty());
}

TEST_F(OfficeTest, TheOnlyServerIsItsOwnMajority) {
  Configure(1, {kA});
  EXPECT_FALSE(office_.Held(At(0)));
  Supports(kA, 0);
  EXPECT_TRUE(office_.Held(At(8)));
  EXPECT_FALSE(office_.Held(At(9)));
}

TEST_F(OfficeTest, HalfOfTheVotersAreNoMajority) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  EXPECT_FALSE(office_.Held(At(0)));
  Supports(kB, 0);
  EXPECT_TRUE(office_.Held(At(0)));
}

TEST_F(OfficeTest, ItEndsWithTheSupportOfTheMajorityAndNotOfTheLastVoter) {
  Configure(1, {kA, kB, kC});
  Supports(kA, 5);
  Supports(kB, 3);
  Supports(kC, 0);
  EXPECT_EQ(office_.ends(), At(12)) << "A and B support it until then";
}

TEST_F(OfficeTest, AnAnswerCountsFromTheQuestionHoweverLateItComes) {
  Configure(1, {kA});
  const uint64_t question = office_.Ask(kA, At(0));
  // Answered, or handled, only after 8 s: a process stood still.
  office_.OnAnswer(kA, question, MapVersion(1, 1));
  EXPECT_EQ(office_.ends(), At(9));
}

TEST_F(OfficeTest, AnswersToOlderQuestionsAndUnknownNumbersLengthenNothing) {
  Configure(1, {kA});
  const uint64_t first = office_.Ask(kA, At(0));
  const uint64_t second = office_.Ask(kA, At(4));
  office_.OnAnswer(kA, second, MapVersion(1, 1));
  EXPECT_EQ(office_.ends(), At(13));
  office_.OnAnswer(kA, first, MapVersion(1, 1));
  office_.OnAnswer(kA, second + 1000, MapVersion(1, 1));
  office_.OnAnswer(kB, 7, MapVersion(1, 1));
  EXPECT_EQ(office_.ends(), At(13));
}

TEST_F(OfficeTest, WhileEitherMapMayBeTheNewestOneKnownBothMajoritiesCount) {
  Configure(1, {kA, kB, kC});
  for (const NodeId node : {kA, kB, kC}) Supports(node, 0);
  Configure(2, {kA, kD});
  EXPECT_FALSE(office_.Held(At(1))) << "D has said nothing";
  Supports(kD, 1, MapVersion(1, 2));
  EXPECT_TRUE(office_.Held(At(1)));
  EXPECT_EQ(office_.ends(), At(9)) << "only A of the old voters knows the new map";
  Supports(kA, 5, MapVersion(1, 2));
  Supports(kB, 1, MapVersion(1, 2));
  EXPECT_EQ(office_.ends(), At(10)) << "A and B know it: the old voters count no more, and D answered at 1 s";
}

TEST_F(OfficeTest, AConfirmationReplacesWhatIsNotNewer) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  EXPECT_FALSE(office_.Held(At(1)));
  EXPECT_TRUE(office_.Confirm({.map_version = MapVersion(1, 1), .nodes = {kA}}));
  EXPECT_TRUE(office_.Held(At(1)));
  EXPECT_TRUE(office_.Votes(kA));
  EXPECT_FALSE(office_.Votes(kB));
}

TEST_F(OfficeTest, AConfirmationForAnOlderMapDoesNotReplaceANewerOne) {
  Configure(3, {kA, kB});
  Supports(kA, 0);
  EXPECT_FALSE(office_.Confirm({.map_version = MapVersion(1, 2), .nodes = {kA}}));
  EXPECT_FALSE(office_.Held(At(1)));
}

TEST_F(OfficeTest, ASuccessorNeedsTheMajoritiesThatTheCoordinatorBeforeNeeded) {
  office_.Adopt(
      {{.map_version = MapVersion(1, 1), .nodes = {kA, kB}}, {.map_version = MapVersion(1, 2), .nodes = {kA, kB, kC}}});
  Supports(kB, 0);
  Supports(kC, 0);
  EXPECT_FALSE(office_.Held(At(1))) << "A and B may have gone on with the map before C joined";
  Supports(kB, 1, MapVersion(1, 2));
  Supports(kA, 1, MapVersion(1, 2));
  EXPECT_TRUE(office_.Held(At(1)));
  EXPECT_EQ(office_.configurations().size(), 1u) << "what A and B know supersedes it";
}

TEST_F(OfficeTest, WhatTheOperatorHasConfirmedHoldsForANewerMapThatIsFoundLater) {
  office_.Adopt({{.map_version = MapVersion(1, 1), .nodes = {kA, kB}}});
  EXPECT_TRUE(office_.Confirm({.map_version = MapVersion(1, 1), .nodes = {kB}}));
  office_.Adopt(
      {{.map_version = MapVersion(1, 1), .nodes = {kA, kB}}, {.map_version = MapVersion(1, 3), .nodes = {kB, kC}}});
  Supports(kB, 0);
  EXPECT_FALSE(office_.Held(At(1))) << "nothing is recorded about the voters of the newer map";
  Supports(kC, 0);
  EXPECT_TRUE(office_.Held(At(1))) << "A is not needed";
}

TEST_F(OfficeTest, AMapNamesABoundedNumberOfVoterSets) {
  for (uint32_t version = 1; version < 100; ++version) Configure(version, {kA, NodeId(1 + version)});
  EXPECT_EQ(office_.configurations().size(), kVoterSetsMax);
}

// Servers A and B on one machine, C on another, as the coordinator of a job with three servers has it when a machine is
// lost: the one that is left is half, so that the operator can decide.
TEST_F(OfficeTest, EveryMachineHasAsManyVotesHoweverManyServersItHas) {
  office_.Configure(
      WithVotes({.map_version = MapVersion(1, 1), .nodes = {kA, kB, kC}}, {{kA, "one"}, {kB, "one"}, {kC, "two"}}));
  Supports(kA, 0);
  Supports(kC, 0);
  EXPECT_TRUE(office_.Held(At(1))) << "a server of the larger machine may be lost";
  EXPECT_TRUE(office_.HeldWithout({kB}, At(1)));
  EXPECT_FALSE(office_.HeldWithout({kC}, At(1)));
  EXPECT_EQ(office_.Wanted({kA, kB, kC}, At(1), kPatience), std::vector<NodeId>{}) << "it has a majority";
  EXPECT_EQ(office_.Wanted({kA, kB, kC}, At(8), kPatience), std::vector<NodeId>{}) << "no voter is fresh";
  Supports(kC, 8);
  EXPECT_FALSE(office_.HeldWithout({kA, kB}, At(9)));
  EXPECT_EQ(office_.Wanted({kA, kB, kC}, At(9), kPatience), std::vector<NodeId>{kC}) << "one of two machines is half";
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

TEST_F(OfficeTest, AServerThatIsProvenGoneCountsNeitherForNorAgainst) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  office_.Exclude(kB);
  EXPECT_TRUE(office_.Held(At(1)));
}

TEST_F(OfficeTest, AServerHasHalfOfTheVotesWhereTheOthersAreNoMajorityWithoutIt) {
  EXPECT_FALSE(office_.HasHalfOfTheVotes(kA)) << "before any map";
  Configure(1, {kA, kB});
  EXPECT_TRUE(office_.HasHalfOfTheVotes(kB)) << "one of two";
  EXPECT_FALSE(office_.HasHalfOfTheVotes(kD)) << "not a voter";
  Configure(2, {kA, kB, kC});
  EXPECT_FALSE(office_.HasHalfOfTheVotes(kB)) << "one of three";
  office_.Exclude(kC);
  EXPECT_TRUE(office_.HasHalfOfTheVotes(kB)) << "the third one is proven gone";
  EXPECT_FALSE(office_.HasHalfOfTheVotes(kC)) << "itself proven gone";
}

TEST_F(OfficeTest, TheOnlyServerOfOneOfTwoMachinesHasHalfOfTheVotes) {
  const Voters voters{.map_version = MapVersion(1, 1), .nodes = {kA, kB, kC}};
  office_.Configure(WithVotes(voters, {{kA, "one"}, {kB, "one"}, {kC, "two"}}));
  EXPECT_TRUE(office_.HasHalfOfTheVotes(kC));
  EXPECT_FALSE(office_.HasHalfOfTheVotes(kA));
  office_.Exclude(kB);
  EXPECT_FALSE(office_.HasHalfOfTheVotes(kA)) << "the vote of B does not pass to A";
  EXPECT_TRUE(office_.HasHalfOfTheVotes(kC));
}

TEST_F(OfficeTest, AServerIsDeclaredLostOnlyByAMajorityWithoutItsOwnLastAnswer) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  Supports(kB, 0);
  EXPECT_TRUE(office_.Held(At(5)));
  EXPECT_FALSE(office_.HeldWithout({kB}, At(5))) << "B may have promised to obey another one since";
  Configure(2, {kA, kB, kC});
  Supports(kA, 4, MapVersion(1, 2));
  Supports(kB, 4, MapVersion(1, 2));
  Supports(kC, 4, MapVersion(1, 2));
  EXPECT_TRUE(office_.HeldWithout({kB}, At(5)));
  EXPECT_FALSE(office_.HeldWithout({kB, kC}, At(5)));
}

TEST_F(OfficeTest, HalfOfTheVotersMayAskToBeConfirmedSoonAndFewerOnlyAfterLong) {
  Configure(1, {kA, kB});
  Supports(kA, 0);
  Supports(kB, 0);
  EXPECT_TRUE(office_.Wanted({kA, kB}, At(4), kPatience).empty());
  Supports(kA, 5);
  EXPECT_EQ(office_.Wanted({kA, kB}, At(6), kPatience), std::vector{kA}) << "before the office ends";
  Configure(2, {kA, kB, kC, kD});
  EXPECT_TRUE(office_.Wanted({kA, kB, kC, kD}, At(7), kPatience).empty()) << "a majority may be elsewhere";
  Supports(kA, 27);
  EXPECT_EQ(office_.Wanted({kA, kB, kC, kD}, At(28), kPatience), std::vector{kA});
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
}  // namespace attune::ps
