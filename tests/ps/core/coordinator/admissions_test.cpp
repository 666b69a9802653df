#include "ps/core/coordinator/admissions.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::admissions_test {
namespace {

class AdmissionsTest : public CoordinatorParts {
 protected:
  static constexpr ConnectionId kNew{9};

  using CoordinatorParts::CoordinatorParts;
  Status Refusal() const {
    const JoinRefused* refused = Sent<JoinRefused>(kNew);
    return refused == nullptr ? OkStatus() : refused->status;
  }
};

TEST_F(AdmissionsTest, AProcessThatJoinsIsAMemberUnderTheNextNumber) {
  admissions_.OnJoin(kNew, JoinOf(Role::kWorker, 1), out_);
  ASSERT_NE(Sent<Welcome>(kNew), nullptr);
  EXPECT_EQ(Sent<Welcome>(kNew)->node, NodeId(4));
  EXPECT_TRUE(job_.map().Contains(NodeId(4)));
  EXPECT_NE(Sent<MapUpdate>(kServer0), nullptr);
}

TEST_F(AdmissionsTest, AServerHearsWhatItNeedsBeforeItServes) {
  recoveries_.SetNewest({.directory = "/c", .checkpoint = 7, .clock = 40}, 0);
  Request(tables_, OpenTable{.spec = {.name = "rows", .options = {.dim = 2}}});
  out_.Clear();
  admissions_.OnJoin(kNew, JoinOf(Role::kServer, 2), out_);
  EXPECT_NE(Sent<NewestCheckpoint>(kNew), nullptr);
  EXPECT_NE(Sent<InstallTable>(kNew), nullptr);
}

TEST_F(AdmissionsTest, AMemberWhoseConnectionBrokeIsWelcomeUnderItsNumber) {
  admissions_.OnJoin(kNew, JoinOf(Role::kWorker, 0), out_);
  ASSERT_NE(Sent<Welcome>(kNew), nullptr);
  EXPECT_EQ(Sent<Welcome>(kNew)->node, kWorker);
  EXPECT_EQ(job_.members().size(), 3U);
  EXPECT_EQ(At(kWorker).connection, kNew);
}

TEST_F(AdmissionsTest, WhatDoesNotBelongHereIsRefused) {
  struct Case {
    const char* story;
    Join join;
    StatusCode code;
  };
  Join other_job = JoinOf(Role::kWorker, 1);
  other_job.job_uid = "other";
  Join no_address = JoinOf(Role::kServer, 2);
  no_address.address.clear();
  Join former = JoinOf(Role::kWorker, 1);
  former.node = NodeId(77);
  Join same_number = JoinOf(Role::kWorker, 1);
  same_number.node = kWorker;
  const Case cases[] = {
      {"another job", other_job, StatusCode::kFailedPrecondition},
      {"a server without an address", no_address, StatusCode::kInvalidArgument},
      {"a server beyond all indices", JoinOf(Role::kServer, kServersMax), StatusCode::kInvalidArgument},
      {"a member that no process here knows", former, StatusCode::kAborted},
      {"another process's number", same_number, StatusCode::kAborted}};
  for (const Case& test : cases) {
    out_.Clear();
    admissions_.OnJoin(kNew, test.join, out_);
    EXPECT_EQ(Refusal().code(), test.code) << test.story;
  }
  EXPECT_EQ(job_.members().size(), 3U);
}

TEST_F(AdmissionsTest, WhoJoinsAFinishedJobHearsThatNothingIsLeftToDo) {
  Join former = JoinOf(Role::kServer, 1);
  former.node = NodeId(77);
  former.incarnation = NewIncarnation(99, 1);
  job_.phase().Finish();
  for (const Join& join : {JoinOf(Role::kServer, 2), JoinOf(Role::kWorker, 1), former}) {
    out_.Clear();
    admissions_.OnJoin(kNew, join, out_);
    EXPECT_NE(Sent<Finished>(kNew), nullptr) << "of role " << static_cast<int>(join.role);
    EXPECT_EQ(Sent<JoinRefused>(kNew), nullptr) << "it would take that for a failure";
  }
  EXPECT_EQ(job_.members().size(), 3U);
  EXPECT_TRUE(admissions_.HasRefused(kNew));
}

TEST_F(AdmissionsTest, AFinishedJobSaysSoToItsOwnProcessesOnly) {
  job_.phase().Finish();
  Join other_job = JoinOf(Role::kServer, 2);
  other_job.job_uid = "other";
  admissions_.OnJoin(kNew, other_job, out_);
  EXPECT_EQ(Refusal().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Sent<Finished>(kNew), nullptr);
}

TEST_F(AdmissionsTest, AJobThatHasFailedTakesNone) {
  job_.phase().Fail(Error(StatusCode::kDataLoss, "rows are lost"));
  admissions_.OnJoin(kNew, JoinOf(Role::kWorker, 1), out_);
  EXPECT_EQ(Refusal().code(), StatusCode::kDataLoss);
}

TEST_F(AdmissionsTest, AnotherProcessOfAnIndexTakesThePlaceOfTheFirst) {
  Join join = JoinOf(Role::kWorker, 0);
  join.incarnation = NewIncarnation(99, 1);
  admissions_.OnJoin(kNew, join, out_);
  EXPECT_FALSE(job_.members().contains(kWorker));
  EXPECT_NE(Sent<SessionLost>(To(kWorker)), nullptr);
  ASSERT_NE(Sent<Welcome>(kNew), nullptr);
}

TEST_F(AdmissionsTest, OneThatHasLeftIsAnsweredWhenItAsksAndOneThatIsLostHearsSo) {
  departures_.Release(kServer1, out_);
  departures_.Lose(kWorker, Error(StatusCode::kAborted, "silent"), out_);
  out_.Clear();
  admissions_.OnJoin(kNew, JoinOf(Role::kServer, 1), out_);
  EXPECT_NE(Sent<Finished>(kNew), nullptr);
  admissions_.OnJoin(kNew, JoinOf(Role::kWorker, 0), out_);
  EXPECT_EQ(Refusal().code(), StatusCode::kAborted);
  out_.Clear();
  admissions_.OnGone(kNew, kServer1, LeaseDone{.header = {.request = RequestId(5)}}, out_);
  ASSERT_NE(Sent<Done>(kNew), nullptr) << "done as far as it is concerned";
  admissions_.OnGone(kNew, kWorker, Heartbeat{.number = 9}, out_);
  EXPECT_NE(Sent<SessionLost>(kNew), nullptr);
}

class FollowedAdmissionsTest : public AdmissionsTest {
 protected:
  FollowedAdmissionsTest() : AdmissionsTest(Followed()) {}
};

TEST_F(FollowedAdmissionsTest, APlaceIsNotTakenWhileTheFirstProcessMayHaveAVote) {
  Join join = JoinOf(Role::kServer, 1);
  join.incarnation = NewIncarnation(99, 1);
  admissions_.OnJoin(kNew, join, out_);
  EXPECT_TRUE(out_.send.empty()) << "it joins again";
  EXPECT_TRUE(job_.members().contains(kServer1));
  EXPECT_TRUE(At(kServer1).said_gone.has_value());
}

}  // namespace
}  // namespace attune::ps::admissions_test
