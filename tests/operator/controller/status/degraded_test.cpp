// When a job that trains does so with less than it was promised, and when nothing can be said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "operator/controller/status/degraded.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::degraded_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

// Every process has reported just now.
void ReportAll(FakeCluster& cluster) {
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  for (telemetry::PodSample& pod : cluster.sample.pods) {
    pod.connected = true;
    pod.window.set_sequence(pod.window.sequence() + 1);
    pod.reported_at = cluster.now().monotonic;
  }
}

FakeCluster Trains(JobBuilder job = MakeTrainingJob("a").Servers(2).Workers(2)) {
  FakeCluster cluster = Running(std::move(job));
  ReportAll(cluster);
  cluster.Settle();
  return cluster;
}

TEST(Degraded, IsSaidOfNoJobThatHasNotBegun) {
  FakeCluster cluster(MakeTrainingJob("a").Build());
  cluster.Settle();
  EXPECT_EQ(cluster.Condition(kDegraded), "absent");
}

TEST(Degraded, IsFalseAtFullStrength) {
  FakeCluster cluster = Trains();
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("False/FullStrength"));
}

TEST(Degraded, IsUnknownWhileNoProcessReports) {
  FakeCluster cluster = Trains();
  cluster.sample.pods.clear();
  cluster.job().status.conditions.clear();  // of an operator that knows nothing yet
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("Unknown/NoReports"));
}

TEST(Degraded, IsTrueWhileAPodFindsNoMachine) {
  FakeCluster cluster = Trains();
  cluster.Evict("a-worker-1");
  for (int round = 0; round < 3; ++round) {
    cluster.Settle();
    cluster.ConfirmDeletions();
  }
  ASSERT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("False")) << "its successor is on its way";
  cluster.Unschedulable("a-worker-1", "0/3 nodes are available: insufficient cpu.");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("True/Unschedulable"));
  EXPECT_THAT(cluster.Condition(kDegraded), HasSubstr("insufficient cpu"));
}

TEST(Degraded, NamesWhatIsRefusedToThisOperator) {
  FakeCluster cluster = Trains();
  cluster.blocked = {{.identity = "CreatePod a-worker-1", .reason = kReasonQuota, .message = "the quota is used up"}};
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("True/QuotaExceeded"));
  cluster.blocked.clear();
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("False"));
}

TEST(Degraded, IsTrueWhileALostServerIsReplaced) {
  FakeCluster cluster = Trains(MakeTrainingJob("a").Servers(2).Workers(2).Backups(1));
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("False"));
  cluster.Exit("a-server-1", 137);
  Say(cluster, {kServing});
  cluster.Reconcile();
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("True/ReplacingServer"));
}

TEST(Degraded, IsFalseOfAJobThatHasEnded) {
  FakeCluster cluster = Trains();
  cluster.blocked = {{.identity = "CreatePod a-worker-1", .reason = kReasonQuota, .message = "the quota is used up"}};
  cluster.Settle();
  cluster.blocked.clear();
  cluster.Finish();
  for (const std::string& name : cluster.PodNames()) cluster.Exit(name, 0);
  cluster.Settle();
  ASSERT_TRUE(api::IsTrue(cluster.status(), api::kSucceeded));
  EXPECT_THAT(cluster.Condition(kDegraded), StartsWith("False"));
}

TEST(CountedPods, AreWrittenOnceInATimeAndAStartThatIsCompleteAtOnce) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(1).Workers(4).Build());
  cluster.options.counts_interval = seconds(1);
  cluster.Settle();
  cluster.Start("a-server-0");
  cluster.Settle();
  cluster.Advance(seconds(2));
  cluster.Settle();
  int writes = 0;
  const auto settle = [&] {
    for (const std::string& action : cluster.Settle()) writes += action.starts_with("WriteStatus") ? 1 : 0;
  };
  for (const char* worker : {"a-worker-0", "a-worker-1", "a-worker-2"}) {
    cluster.Start(worker);
    settle();
  }
  EXPECT_LE(writes, 1);
  EXPECT_LE(cluster.requeue().value_or(seconds(9)), seconds(1)) << "what was not written is, soon";
  cluster.Start("a-worker-3");
  settle();
  EXPECT_EQ(cluster.status().workers.ready, 4) << "that all are there is a fact";
  EXPECT_TRUE(api::IsTrue(cluster.status(), api::kReady));
}

}  // namespace
}  // namespace attune::controller::degraded_test
