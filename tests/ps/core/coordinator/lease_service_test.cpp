#include "ps/core/coordinator/lease_service.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::lease_service_test {
namespace {

class LeaseServiceTest : public CoordinatorParts {
 protected:
  void LeaseAllAndAskForMore() {
    TakeLease();
    for (int i = 0; i < 10; ++i) Request(leases_, LeaseRequest{.data_set = DataSetId(1)});
  }
};

TEST_F(LeaseServiceTest, ALeaseIsGrantedAndItsWorkerCounts) {
  EXPECT_FALSE(leases_.HasWork(At(kWorker)));
  const LeaseGrant grant = TakeLease();
  EXPECT_EQ(grant.end - grant.begin, 10U);
  EXPECT_TRUE(leases_.HasWork(At(kWorker)));
  EXPECT_TRUE(At(kWorker).uses_leases);
}

TEST_F(LeaseServiceTest, AWorkerThatHasEndedItsLeaseHasNoWork) {
  const LeaseGrant grant = TakeLease();
  Request(leases_, LeaseDone{.lease = grant.lease});
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  EXPECT_FALSE(leases_.HasWork(At(kWorker)));
  JobProgress progress;
  leases_.Fill(progress);
  EXPECT_EQ(progress.items_done, 10U);
}

TEST_F(LeaseServiceTest, WhatAWorkerHandsBackOrLosesGoesToOthers) {
  const LeaseGrant first = TakeLease();
  Request(leases_, LeaseReturn{.lease = first.lease, .position = first.begin + 4});
  out_.Clear();
  Request(leases_, LeaseRequest{.data_set = DataSetId(1)});
  ASSERT_NE(Sent<LeaseGrant>(kWorker), nullptr);
  EXPECT_EQ(Sent<LeaseGrant>(kWorker)->begin, first.begin + 4);
  EXPECT_EQ(leases_.ReleaseAll(kWorker), 6U);
}

TEST_F(LeaseServiceTest, ADataSetThatIsNotOpenIsRefused) {
  Request(leases_, LeaseRequest{.data_set = DataSetId(9)});
  EXPECT_NE(Sent<Refused>(kWorker), nullptr);
}

TEST_F(LeaseServiceTest, ARequestThatWaitsForTooLongIsRefused) {
  LeaseAllAndAskForMore();
  EXPECT_EQ(Sent<Refused>(kWorker), nullptr) << "all items are leased, and it waits";
  Now(std::chrono::seconds(40));
  leases_.Serve(out_);
  ASSERT_NE(Sent<Refused>(kWorker), nullptr);
  EXPECT_EQ(Sent<Refused>(kWorker)->status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(LeaseServiceTest, ARequestThatOthersWaitBehindIsAskedAgain) {
  LeaseAllAndAskForMore();
  leases_.RefuseWaiting(kWorker, out_);
  EXPECT_NE(Sent<Refused>(kWorker), nullptr);
}

TEST_F(LeaseServiceTest, OnceTheGoalIsReachedThoseWhoWaitHearSo) {
  LeaseAllAndAskForMore();
  out_.Clear();
  CoordinatorRecord reached;
  job_.Fill(reached);
  reached.goal_reached = "enough";
  goals_.Restore(reached);
  leases_.BeginClosing(out_);
  ASSERT_NE(Sent<LeasesEnded>(kWorker), nullptr);
  EXPECT_EQ(Sent<LeasesEnded>(kWorker)->reason, LeasesEndReason::kGoalReached);
}

TEST_F(LeaseServiceTest, ASuccessorGivesItemsOfLostWorkersToOthers) {
  const LeaseGrant grant = TakeLease();
  CoordinatorRecord record;
  leases_.Fill(record);
  JobContext job(Alone());
  Replies replies(job);
  Goals goals(job, replies);
  Pace pace(job);
  LeaseService next(job, replies, goals, pace);
  out_.Clear();
  next.Restore(record, out_);
  EXPECT_TRUE(HasEvent(std::to_string(grant.end - grant.begin) + " items of \"train\" go to others"));
}

}  // namespace
}  // namespace attune::ps::lease_service_test
