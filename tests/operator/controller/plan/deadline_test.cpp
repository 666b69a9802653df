// Jobs that have had their time, and jobs that are another controller's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan.h"
#include "operator/controller/plan/verdicts/deadline.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::deadline_test {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

FakeCluster RunningFor(int64_t deadline) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(2).Claim("models"));
  cluster.job().spec.run_policy.active_deadline_seconds = deadline;
  return cluster;
}

TEST(Deadline, AJobThatHasNotEndedByThenIsFailedAndItsPodsGo) {
  FakeCluster cluster = RunningFor(100);
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed));
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              AllOf(StartsWith("True/DeadlineExceeded"), HasSubstr("the 100 s that spec.runPolicy.activeDeadline")));
  for (const ObservedPod& pod : cluster.Observe().pods) EXPECT_TRUE(IsBeingDeleted(pod)) << pod.name;
}

TEST(Deadline, ItIsLookedAtInTime) {
  FakeCluster cluster = RunningFor(100);
  Observed observed = cluster.Observe();
  const auto left = UntilDeadline(observed, cluster.now());
  ASSERT_TRUE(left);
  EXPECT_GT(*left, seconds(0));
  EXPECT_LE(*left, seconds(100));
}

TEST(Deadline, TimeBeforeASuspensionDoesNotCount) {
  FakeCluster cluster = RunningFor(100);
  cluster.Advance(seconds(90));
  api::SuspensionStatus& suspension = cluster.job().status.suspension.emplace();
  suspension.state = api::kSuspensionResumed;
  suspension.resumed = ToRfc3339(cluster.now().wall);
  const auto left = UntilDeadline(cluster.Observe(), cluster.now());
  ASSERT_TRUE(left);
  EXPECT_GE(*left, seconds(99));
}

TEST(Deadline, AJobThatIsDoneIsNotEndedByIt) {
  Observed observed;
  observed.job.spec.run_policy.active_deadline_seconds = 1;
  observed.job.status.start_time = "2026-01-01T00:00:00Z";
  const Now later{MonotonicTime(seconds(100)), *ParseRfc3339("2026-01-02T00:00:00Z")};
  ServersView servers;
  EXPECT_TRUE(JudgeDeadline(observed, servers, later));
  servers.closed = true;
  EXPECT_FALSE(JudgeDeadline(observed, servers, later));
}

TEST(Deadline, OneThatHasPassedAsksForNoLookOfItsOwnWhileTheJobEnds) {
  FakeCluster cluster = RunningFor(100);
  cluster.Advance(seconds(60));
  cluster.sample.job->set_goal_reached(true);
  cluster.sample.job->mutable_closing()->set_declared(true);
  cluster.sample.job->mutable_closing()->set_done(true);
  cluster.Settle();
  ASSERT_TRUE(api::IsTrue(cluster.status(), kClosingDone));
  cluster.Advance(seconds(60));
  const std::vector<Step> plan = Plan(cluster.Observe(), cluster.options, cluster.now());
  ASSERT_FALSE(plan.empty());
  for (const Step& step : plan) {
    if (const auto* requeue = std::get_if<RequeueAfter>(&step.action)) {
      EXPECT_NE(requeue->reason, "the job's deadline");
    }
  }
}

TEST(ManagedBy, AnotherControllersJobIsLeftAlone) {
  for (const char* manager : {"", api::kManagedByOperator, "kueue.x-k8s.io/multikueue"}) {
    FakeCluster cluster(MakeTrainingJob("a").Servers(1).Workers(1).Build());
    cluster.job().spec.managed_by = manager;
    cluster.Settle();
    const bool ours = !std::string_view(manager).starts_with("kueue");
    EXPECT_EQ(!cluster.PodNames().empty(), ours) << manager;
    EXPECT_EQ(cluster.status().conditions.empty(), !ours) << manager;
  }
}

}  // namespace
}  // namespace attune::controller::deadline_test
