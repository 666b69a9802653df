// Candidates against the API in memory: what they write, and that a race has one winner.
#include "operator/leadership/candidate.h"

#include <gtest/gtest.h>

#include <memory>

#include "operator/local/api/memory_api.h"

namespace attune::leadership::candidate_test {
namespace {

using kube::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;

const kube::ObjectKey kKey{"system", "attune-operator"};

struct Replica {
  Replica(const std::string& identity, kube::Api& api, const TimeSource& time)
      : fence(time), candidate({.identity = identity}, kKey, api, time, fence, 1) {}
  Fence fence;
  Candidate candidate;
};

class CandidateTest : public testing::Test {
 protected:
  void SetUp() override { time_.Advance(seconds(1000)); }

  Json Lease() {
    const auto lease = api_.Get(kLeases, kKey);
    return lease.ok() ? *lease : Json();
  }
  void Patch(const Json& patch) { ASSERT_TRUE(api_.Patch(kLeases, kKey, kube::PatchType::kMerge, patch).ok()); }
  // Each does what is due, for so long.
  void Pass(Duration time, std::initializer_list<Replica*> replicas) {
    const MonotonicTime end = time_.Now() + time;
    for (; time_.Now() < end; time_.Advance(milliseconds(50))) {
      for (Replica* replica : replicas) replica->candidate.Act();
    }
  }
  // How long it takes until this one may act.
  Duration UntilOpen(Replica& replica) {
    const MonotonicTime begin = time_.Now();
    while (!replica.fence.IsOpen() && time_.Now() - begin < seconds(60)) Pass(milliseconds(50), {&replica});
    return time_.Now() - begin;
  }

  ManualTime time_;
  local::MemoryApi api_{time_, {.own_thread = false}};
  Replica a_{"a", api_, time_}, b_{"b", api_, time_};
};

TEST_F(CandidateTest, TheFirstOneMakesTheLeaseAndLeadsWhenItHasHeldItForItsWholeTime) {
  EXPECT_NEAR(Seconds(UntilOpen(a_)), 18, 0.2);
  const Json lease = Lease();
  EXPECT_EQ(kube::StringAt(lease, {"spec", "holderIdentity"}), "a");
  EXPECT_EQ(kube::IntegerAt(lease, {"spec", "leaseDurationSeconds"}), 15);
  EXPECT_EQ(kube::IntegerAt(lease, {"spec", "leaseTransitions"}), 1);
  EXPECT_FALSE(kube::StringAt(lease, {"spec", "renewTime"}).empty());
}

TEST_F(CandidateTest, OfTwoOneLeadsAndStays) {
  Pass(seconds(19), {&a_, &b_});
  EXPECT_NE(a_.fence.IsOpen(), b_.fence.IsOpen());
  const bool a_leads = a_.fence.IsOpen();
  for (int i = 0; i < 100; ++i) {
    Pass(seconds(1), {&a_, &b_});
    ASSERT_EQ(a_.fence.IsOpen(), a_leads);
    ASSERT_EQ(b_.fence.IsOpen(), !a_leads);
  }
  EXPECT_EQ(kube::IntegerAt(Lease(), {"spec", "leaseTransitions"}), 1);
}

TEST_F(CandidateTest, OneThatIsKilledIsFollowedASecondAfterItsLeaseAtTheLatest) {
  UntilOpen(a_);
  Pass(seconds(30), {&a_, &b_});
  const MonotonicTime killed = time_.Now();
  const Duration taken = UntilOpen(b_);
  EXPECT_GE(time_.Now() - killed + milliseconds(2400), seconds(15)) << "sooner than its lease allows";
  EXPECT_LE(taken, seconds(16));
  EXPECT_FALSE(a_.fence.IsOpen());
  EXPECT_EQ(kube::IntegerAt(Lease(), {"spec", "leaseTransitions"}), 2);
}

TEST_F(CandidateTest, OneThatResignsIsFollowedWithinASecond) {
  UntilOpen(a_);
  Pass(seconds(5), {&a_, &b_});
  a_.candidate.Resign();
  EXPECT_FALSE(a_.fence.IsOpen()) << "before anything is sent";
  EXPECT_EQ(a_.candidate.Act(), kNever);
  EXPECT_EQ(kube::StringAt(Lease(), {"spec", "holderIdentity"}), "");
  EXPECT_EQ(kube::Annotation(Lease(), kAnnotationReleasedBy), "a");
  EXPECT_LE(UntilOpen(b_), milliseconds(500));
  EXPECT_EQ(kube::Annotation(Lease(), kAnnotationReleasedBy), "");
}

TEST_F(CandidateTest, OneThatWasStoppedForAMinuteMayNotActWhenItContinues) {
  UntilOpen(a_);
  Pass(seconds(5), {&a_, &b_});
  Pass(seconds(60), {&b_});
  EXPECT_TRUE(b_.fence.IsOpen());
  EXPECT_FALSE(a_.fence.IsOpen()) << "by the clock alone, before its candidate has run";
  EXPECT_EQ(a_.candidate.Act(), kNever);
  EXPECT_EQ(a_.candidate.View().state, Election::State::kLost);
  EXPECT_EQ(kube::StringAt(Lease(), {"spec", "holderIdentity"}), "b");
}

TEST_F(CandidateTest, ALeaseThatIsDeletedByHandIsMadeAgainAndNobodyElseTakesIt) {
  UntilOpen(a_);
  Pass(seconds(5), {&a_, &b_});
  ASSERT_TRUE(api_.Delete(kLeases, kKey).ok());
  Replica c("c", api_, time_);  // begins in the moment in which there is none
  for (int i = 0; i < 300; ++i) {
    Pass(milliseconds(100), {&c, &b_, &a_});
    ASSERT_TRUE(a_.fence.IsOpen());
    ASSERT_FALSE(b_.fence.IsOpen());
    ASSERT_FALSE(c.fence.IsOpen());
  }
  EXPECT_EQ(kube::StringAt(Lease(), {"spec", "holderIdentity"}), "a");
}

TEST_F(CandidateTest, WhatOthersWriteOnTheLeaseStays) {
  UntilOpen(a_);
  Patch({{"metadata", {{"labels", {{"team", "platform"}}}, {"annotations", {{"note", "x"}}}}}});
  Pass(seconds(10), {&a_});
  EXPECT_TRUE(a_.fence.IsOpen()) << "a change that is no other holder is read and renewed";
  EXPECT_EQ(kube::Label(Lease(), "team"), "platform");
  EXPECT_EQ(kube::Annotation(Lease(), "note"), "x");
}

TEST_F(CandidateTest, WhatIsShownOfIt) {
  EXPECT_LT(a_.candidate.View().since_renewal, Duration::zero());
  UntilOpen(a_);
  Pass(seconds(1), {&a_, &b_});
  const CandidateView leader = a_.candidate.View(), standby = b_.candidate.View();
  EXPECT_TRUE(leader.leads);
  EXPECT_EQ(leader.transitions, 1);
  EXPECT_LE(leader.since_renewal, seconds(3));
  EXPECT_FALSE(standby.leads);
  EXPECT_EQ(standby.holder, "a");
  time_.Advance(seconds(60));
  EXPECT_FALSE(a_.candidate.View().leads) << "though its thread has not run";
}

}  // namespace
}  // namespace attune::leadership::candidate_test
