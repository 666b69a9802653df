// A job that has all of its pods or none. As stories over FakeCluster.
#include "operator/controller/plan/suspension/gang_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::gang_start_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

FakeCluster Gang(int servers, int workers, int timeout = 60) {
  api::TrainingJob job = MakeTrainingJob("a").Servers(servers).Workers(workers).Build();
  job.spec.start_policy.gang_timeout_seconds = timeout;
  return FakeCluster(job);
}

std::string GangState(const FakeCluster& cluster) {
  return cluster.status().suspension ? cluster.status().suspension->state : "none";
}

void LetPass(FakeCluster& cluster, int time) {
  for (int i = 0; i < time; ++i) {
    cluster.Advance(seconds(1));
    cluster.Settle();
  }
}

TEST(GangStart, WhatDoesNotFitWholeGivesBackWhatItHas) {
  FakeCluster cluster = Gang(2, 1);
  cluster.Settle();
  cluster.Start("a-server-0");
  cluster.Unschedulable("a-server-1", "0/3 nodes are available");
  LetPass(cluster, 58);
  EXPECT_TRUE(cluster.Has("a-server-0"));
  EXPECT_EQ(GangState(cluster), "none");
  LetPass(cluster, 4);
  cluster.ConfirmDeletions();
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_EQ(GangState(cluster), "Suspended");
  EXPECT_THAT(
      cluster.Condition(api::kSuspended),
      StartsWith("True/JobSuspended: 1 of 3 pods had a machine after 60 s (spec.startPolicy.gangTimeoutSeconds); it "
                 "will continue from its beginning; it is tried again at 20"));
  LetPass(cluster, 55);
  EXPECT_THAT(cluster.PodNames(), IsEmpty()) << "a pause, in which others find machines";
  LetPass(cluster, 30);
  EXPECT_THAT(cluster.PodNames(), Not(IsEmpty())) << "and another attempt";
  EXPECT_EQ(cluster.status().suspension->attempt, 1);
}

TEST(GangStart, PausesGrowAndAnAttemptThatIsCompleteEndsThem) {
  FakeCluster cluster = Gang(1, 1, 60);
  Duration last{};
  for (int attempt = 1; attempt <= 3; ++attempt) {
    cluster.Settle();
    LetPass(cluster, 62);
    cluster.ConfirmDeletions();
    cluster.Settle();
    ASSERT_EQ(GangState(cluster), "Suspended") << attempt;
    EXPECT_EQ(cluster.status().suspension->gang_tries, attempt);
    const Duration pause = GangPause(cluster.job(), attempt);
    EXPECT_GE(pause, 2 * last);
    last = pause;
    cluster.Advance(pause + seconds(1));
    cluster.Settle();
  }
  for (int round = 0; round < 3; ++round) {
    cluster.StartAll();
    cluster.Settle();
  }
  EXPECT_THAT(cluster.Condition(kTrainingStarted), StartsWith("True"));
  EXPECT_EQ(cluster.status().suspension->gang_tries, 0);
  LetPass(cluster, 300);
  EXPECT_EQ(GangState(cluster), "Resumed");
}

TEST(GangStart, AJobThatHasStartedKeepsItsPodsWhateverLeavesIt) {
  FakeCluster cluster = Gang(1, 2);
  for (int round = 0; round < 3; ++round) {
    cluster.Settle();
    cluster.StartAll();
  }
  cluster.Settle();
  ASSERT_THAT(cluster.Condition(kTrainingStarted), StartsWith("True"));
  cluster.job().spec.workers.replicas = 9;
  ++cluster.job().generation;
  LetPass(cluster, 200);
  EXPECT_EQ(GangState(cluster), "none");
  EXPECT_TRUE(cluster.Has("a-worker-0"));
}

TEST(GangStart, AllHaveMachinesButPullTheirImagesForLong) {
  FakeCluster cluster = Gang(1, 1);
  cluster.Settle();
  cluster.Start("a-server-0");
  cluster.Settle();
  cluster.Waiting("a-worker-0", "ContainerCreating", "");
  LetPass(cluster, 300);
  EXPECT_EQ(GangState(cluster), "none");
}

TEST(GangStart, OneThatFailsWhileOthersStillPullTheirImagesTakesNoneOfThemAway) {
  FakeCluster cluster = Gang(1, 2);
  cluster.Settle();
  cluster.Start("a-server-0");
  cluster.Settle();
  cluster.Waiting("a-worker-0", "ContainerCreating", "");
  cluster.Start("a-worker-1");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(kAllPlaced), StartsWith("True"));
  LetPass(cluster, 100);
  cluster.Exit("a-worker-1", 3);
  for (int i = 0; i < 60; ++i) {  // its successor waits for a machine
    LetPass(cluster, 1);
    cluster.ConfirmDeletions();
  }
  EXPECT_EQ(GangState(cluster), "none");
  EXPECT_TRUE(cluster.Has("a-worker-0"));
}

TEST(GangStart, WithoutATimeoutEachStartsWhenItCan) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).Build());
  cluster.Settle();
  cluster.Start("a-server-0");
  LetPass(cluster, 500);
  EXPECT_EQ(GangState(cluster), "none");
}

TEST(GangStart, AUserWhoSuspendsItMeanwhileIsObeyed) {
  FakeCluster cluster = Gang(1, 1);
  cluster.Settle();
  LetPass(cluster, 62);
  cluster.ConfirmDeletions();
  cluster.Settle();
  cluster.job().spec.suspend = true;
  ++cluster.job().generation;
  LetPass(cluster, 600);
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  cluster.job().spec.suspend = false;
  ++cluster.job().generation;
  LetPass(cluster, 5);
  EXPECT_THAT(cluster.PodNames(), Not(IsEmpty()));
}

TEST(GangStart, AClockThatIsSetBackEndsNoAttempt) {
  Observed observed;
  observed.job = Gang(1, 1).job();
  observed.job.status.start_time = "2026-01-01T00:10:00Z";
  const WallTime before = WallTime{} + seconds(1'767'225'900);  // 2026-01-01T00:05:00Z
  const GangView view = LookAtGang(observed, {MonotonicTime{} + minutes(60), before});
  EXPECT_FALSE(view.shortage);
  EXPECT_EQ(view.again, Duration(seconds(60)));
}

TEST(GangStart, PausesOfJobsDifferAndAreBounded) {
  api::TrainingJob one = Gang(1, 1).job(), other = one;
  one.uid = "one", other.uid = "another";
  EXPECT_NE(GangPause(one, 1), GangPause(other, 1));
  for (const int32_t tries : {1, 2, 5, 100, 2'000'000'000}) {
    EXPECT_GE(GangPause(one, tries), seconds(60)) << tries;
    EXPECT_LE(GangPause(one, tries), minutes(20)) << tries;
  }
}

}  // namespace
}  // namespace attune::controller::gang_start_test
