#include "ps/core/coordinator/departures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::departures_test {
namespace {

class DeparturesTest : public CoordinatorParts {
 protected:
  using CoordinatorParts::CoordinatorParts;
  static Status Gone() { return Error(StatusCode::kAborted, "gone"); }
};

TEST_F(DeparturesTest, ALostWorkersItemsGoToOthersAndItHoldsUpNone) {
  const LeaseGrant grant = TakeLease();
  At(kWorker).last.steps = 3;
  pace_.Report(At(kWorker));
  departures_.Lose(kWorker, Gone(), out_);
  EXPECT_FALSE(job_.members().contains(kWorker));
  EXPECT_FALSE(job_.map().Contains(kWorker));
  EXPECT_NE(Sent<SessionLost>(To(kWorker)), nullptr);
  EXPECT_TRUE(HasEvent(std::to_string(grant.end - grant.begin) + " items go to others"));
  EXPECT_EQ(job_.members().TotalSteps(), 3U) << "its steps count";
  EXPECT_FALSE(pace_.clocks().IsCounted(kWorker));
  EXPECT_FALSE(recoveries_.in_progress()) << "it had no rows";
}

TEST_F(DeparturesTest, AWorkerWithRowsIsRecoveredFrom) {
  At(kWorker).member.takes_rows = true;
  departures_.Lose(kWorker, Gone(), out_);
  EXPECT_TRUE(recoveries_.in_progress());
  EXPECT_EQ(job_.map().recovered_at, job_.map().version);
}

TEST_F(DeparturesTest, AServersShardsWithoutACopyComeFromTheNewestCheckpoint) {
  recoveries_.SetNewest({.directory = "/c", .checkpoint = 7, .clock = 40}, 0);
  departures_.Lose(kServer1, Gone(), out_);
  EXPECT_TRUE(HasEvent("2 shards have no copy, their rows go back to checkpoint 7"));
  EXPECT_TRUE(recoveries_.in_progress());
  for (const Shard& shard : job_.map().shards) EXPECT_EQ(shard.home, kServer0);
}

TEST_F(DeparturesTest, TheLastServerStaysInTheMapUntilAnotherOneComes) {
  departures_.Lose(kServer1, Gone(), out_);
  departures_.Lose(kServer0, Gone(), out_);
  EXPECT_TRUE(HasEvent("no server is left"));
  EXPECT_TRUE(job_.last_server().is_lost());
  EXPECT_TRUE(job_.map().Contains(kServer0));
  out_.Clear();
  departures_.Lose(kServer0, Gone(), out_);
  EXPECT_TRUE(out_.events.empty()) << "it is lost already";
  MemberState& next = job_.members().Admit(JoinOf(Role::kServer, 1), ConnectionId(9));
  const NodeId id = next.member.node;
  departures_.ReplaceLastServers(out_);
  EXPECT_FALSE(job_.map().Contains(kServer0));
  for (const Shard& shard : job_.map().shards) EXPECT_EQ(shard.home, id);
}

TEST_F(DeparturesTest, WhenTheJobIsFinishedAServerJustEnds) {
  job_.phase().Finish();
  const MapVersion version = job_.map().version;
  departures_.Lose(kServer1, Gone(), out_);
  EXPECT_EQ(job_.map().version, version);
  EXPECT_TRUE(out_.events.empty());
}

TEST_F(DeparturesTest, AWorkerThatLeavesIsAnsweredAndForgotten) {
  const RequestHeader header = NextHeader();
  ASSERT_TRUE(Replies::TakeUp(At(kWorker), header.request, out_));
  ASSERT_TRUE(departures_.OnLeave(At(kWorker), {.header = header, .steps = 5}, out_));
  EXPECT_EQ(departures_.EndLeave(kWorker, out_).steps, 5U);
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  EXPECT_EQ(job_.members().TotalSteps(), 5U);
  EXPECT_FALSE(job_.map().Contains(kWorker));
}

TEST_F(DeparturesTest, OneWithRowsStaysUntilTheyHaveGoneHome) {
  At(kWorker).member.takes_rows = true;
  const RequestHeader header = NextHeader();
  ASSERT_TRUE(Replies::TakeUp(At(kWorker), header.request, out_));
  EXPECT_FALSE(departures_.OnLeave(At(kWorker), {.header = header}, out_));
  EXPECT_TRUE(job_.map().Find(kWorker)->leaving);
}

TEST_F(DeparturesTest, AReleasedServerHearsThatItMayEnd) {
  departures_.Release(kServer1, out_);
  EXPECT_NE(Sent<Finished>(kServer1), nullptr);
  EXPECT_FALSE(job_.members().contains(kServer1));
}

TEST_F(DeparturesTest, WhoseProcessIsGoneIsLostOnceItIsSilent) {
  At(kWorker).connection.reset();
  ASSERT_TRUE(job_.silence().NoteSaidGone(Role::kWorker, 0, PodOfIndex(Role::kWorker, 0), job_.now()));
  departures_.LoseTheGone(out_);
  EXPECT_FALSE(job_.members().contains(kWorker));
  EXPECT_TRUE(HasEvent("'s process is gone"));
}

class FollowedDeparturesTest : public DeparturesTest {
 protected:
  FollowedDeparturesTest() : DeparturesTest(Followed()) {}
};

TEST_F(FollowedDeparturesTest, WithoutTheLeaseNoMemberIsDeclaredLost) {
  Now(std::chrono::minutes(1));
  ASSERT_FALSE(job_.Leads());
  At(kServer1).connection.reset();
  ASSERT_TRUE(job_.silence().NoteSaidGone(Role::kServer, 1, PodOfIndex(Role::kServer, 1), job_.now()));
  departures_.LoseTheGone(out_);
  departures_.LoseTheSilent(out_);
  EXPECT_EQ(job_.members().size(), 3U);
  const std::vector<NodeId>& voters = job_.map().voters.back().nodes;
  EXPECT_EQ(std::ranges::find(voters, kServer1), voters.end()) << "but it has no vote in later maps";
}

}  // namespace
}  // namespace attune::ps::departures_test
