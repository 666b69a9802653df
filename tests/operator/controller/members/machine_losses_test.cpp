// A machine that cost a job two pods is avoided for an hour by those that are made for it.
#include "operator/controller/members/machine_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/controller/members/two_machines.h"

namespace attune::controller::machine_losses_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> Avoided(FakeCluster& cluster, const std::string& pod) {
  std::vector<std::string> machines;
  for (const kube::Json& term : kube::At(
           cluster.pod(pod), {"spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"})) {
    const kube::Json& field = term["preference"]["matchFields"][0];
    if (field["operator"] == "NotIn") machines.push_back(field["values"][0].get<std::string>());
  }
  return machines;
}

// It ends badly, and another one of its name is made.
void Fail(FakeCluster& cluster, const std::string& pod) {
  const std::string before(kube::Uid(cluster.pod(pod)));
  cluster.Exit(pod, 3);
  const auto is_another = [&] { return cluster.Has(pod) && kube::Uid(cluster.pod(pod)) != before; };
  for (int i = 0; i < 200 && !is_another(); ++i) {
    cluster.Settle();
    cluster.ConfirmDeletions();
    cluster.Advance(seconds(1));
  }
  ASSERT_TRUE(is_another()) << pod;
}

FakeCluster Three() { return TwoMachines(MakeTrainingJob("a").Servers(1).Workers(3).BackoffLimit(20)); }

TEST(MachineLosses, AfterTwoOfThemNewPodsGoElsewhereForAnHour) {
  FakeCluster cluster = Three();
  Fail(cluster, "a-worker-0");
  EXPECT_THAT(Avoided(cluster, "a-worker-0"), IsEmpty()) << "one is chance";
  StartOn(cluster, "a-worker-0", "node-2");
  Fail(cluster, "a-worker-1");
  EXPECT_THAT(Avoided(cluster, "a-worker-1"), ElementsAre("node-1"));
  EXPECT_THAT(Notes(cluster, "MachineAvoided"), ElementsAre(HasSubstr("node-1 has cost this job two pods")));
  StartOn(cluster, "a-worker-1", "node-2");
  Fail(cluster, "a-worker-1");
  EXPECT_THAT(Avoided(cluster, "a-worker-1"), ElementsAre("node-1")) << "node-2 has cost one";
  StartOn(cluster, "a-worker-1", "node-2");
  cluster.Advance(hours(1));
  cluster.Settle();
  EXPECT_THAT(cluster.status().machine_losses, IsEmpty());
  Fail(cluster, "a-worker-2");
  EXPECT_THAT(Avoided(cluster, "a-worker-2"), IsEmpty());
  EXPECT_THAT(Notes(cluster, "MachineAvoided"), SizeIs(1));
}

TEST(MachineLosses, PodsThatGoWithTheirMachineCountOnceEach) {
  FakeCluster cluster = Three();
  cluster.nodes = {{"node-1", {.ready = false}}, {"node-2", {}}};
  for (const char* pod : {"a-worker-1", "a-worker-2"}) {
    cluster.LoseNodeOf(pod);
    cluster.DeleteFromOutside(pod);
  }
  for (int i = 0; i < 20; ++i) {
    cluster.Settle();
    cluster.Advance(seconds(5));
  }
  EXPECT_THAT(api::AvoidedMachines(cluster.status().machine_losses), ElementsAre("node-1"));
  EXPECT_THAT(cluster.status().machine_losses, SizeIs(2));
}

TEST(MachineLosses, AMachineThatIsEmptiedForMaintenanceIsAsGoodAsBefore) {
  FakeCluster cluster = Three();
  cluster.nodes = {{"node-1", {.cordoned = true}}, {"node-2", {}}};
  for (const char* pod : {"a-worker-0", "a-worker-1", "a-worker-2"}) {
    cluster.Disrupt(pod, "EvictionByEvictionAPI");
    cluster.Settle();
  }
  EXPECT_THAT(cluster.status().machine_losses, IsEmpty());
}

TEST(MachineLosses, TheNewestAreKeptAndWhatIsNoTimeIsForgotten) {
  Observed observed;
  observed.job.uid = "j1";
  const Now now{MonotonicTime{} + hours(1), WallTime{} + seconds(1'700'000'000)};
  for (int i = 0; i < 100; ++i) {
    ObservedPod pod;
    pod.uid = std::to_string(i);
    pod.job_uid = "j1";
    pod.role = RoleName::kWorker;
    pod.index = i;
    pod.node = "node-" + std::to_string(i);
    pod.failure_number = i;
    observed.pods.push_back(pod);
  }
  observed.job.status.machine_losses = {{.machine = "m", .pod = 7, .time = "yesterday"}, {.machine = "m", .pod = 8}};
  const auto losses = NextLosses(observed, now);
  ASSERT_THAT(losses, SizeIs(api::MachineLoss::kKept));
  EXPECT_EQ(losses.back().machine, "node-99");
  observed.job.status.machine_losses = losses;
  observed.pods.erase(observed.pods.begin(), observed.pods.end() - 10);
  EXPECT_EQ(NextLosses(observed, {now.monotonic + minutes(5), now.wall + minutes(5)}), losses) << "nothing new";
}

}  // namespace
}  // namespace attune::controller::machine_losses_test
