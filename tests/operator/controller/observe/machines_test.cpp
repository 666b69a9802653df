#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/observe/machines.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::machines_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Machines, ExplainWhyAPodWaits) {
  kube::Json worker = {
      {"spec",
       {{"containers",
         kube::Json::array({{{"name", "worker"}, {"image", "x"}, {"resources", {{"requests", {{"cpu", "4"}}}}}}})}}}};
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1).WorkerTemplate(worker));
  cluster.job().spec.workers.replicas = 2;
  cluster.Settle();
  cluster.Unschedulable("a-worker-1", "0/2 nodes are available: 2 Insufficient cpu.");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), HasSubstr("Lower the requests")) << "without figures";
  cluster.machines = {{"node-a", {1, 8.0 * (1 << 30)}}, {"node-b", {2, 4.0 * (1 << 30)}}};
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kWorkersReady),
              StartsWith("False/Unschedulable: a-worker-1 cannot be placed on a node: 0/2 nodes are available: 2 "
                         "Insufficient cpu. 1 of 1 workers can fit on no machine: each requests 4.01 CPU"));
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), HasSubstr("the freest machine (node-a) has 1 CPU and 8.0 GiB"));
}

TEST(Machines, RequestsAddUpAsKubernetesCountsThem) {
  const auto pod = kube::Json::parse(R"({"spec": {
    "containers": [{"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "memory": "1Gi"}}},
                   {"resources": {"requests": {"memory": "1Gi"}}}],
    "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "10m"}}},
                       {"resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}})");
  const scheduler::Resources requests = RequestsOf(pod);
  EXPECT_DOUBLE_EQ(requests.cpu_cores, 1) << "the init container needs more than the rest";
  EXPECT_DOUBLE_EQ(requests.memory_bytes, 2.0 * (1 << 30)) << "a limit without request is one";
  EXPECT_EQ(RequestsOf(kube::Json::object()), scheduler::Resources());
}

TEST(Machines, CordonedAndSilentNodesTakeNoPods) {
  const auto node = [](const char* text) { return std::make_shared<const kube::Json>(kube::Json::parse(text)); };
  ObservedPod pod;
  pod.node = "a";
  pod.requests = {1, 0};
  const auto machines = FreeMachines(
      {node(R"({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "memory": "1Ki"}}})"),
       node(R"({"metadata": {"name": "b"}, "spec": {"unschedulable": true}})"),
       node(R"({"metadata": {"name": "c"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})")},
      {pod});
  ASSERT_EQ(machines.size(), 1U);
  EXPECT_EQ(machines[0].name, "a");
  EXPECT_EQ(machines[0].free, (scheduler::Resources{3, 1024}));
}

TEST(Machines, ThatAreAboutToBeTakenAwayAreCordonedOnes) {
  const auto is_cordoned = [](const char* taints) {
    const kube::Json node = {{"metadata", {{"name", "a"}}}, {"spec", {{"taints", kube::Json::parse(taints)}}}};
    EXPECT_EQ(ObserveNode(ProjectNode(node)).cordoned, ObserveNode(node).cordoned) << "as the cache keeps it";
    return ObserveNode(node).cordoned;
  };
  EXPECT_TRUE(is_cordoned(R"([{"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}])"));
  EXPECT_TRUE(is_cordoned(
      R"([{"key": "x", "effect": "NoSchedule"}, {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])"));
  EXPECT_TRUE(is_cordoned(R"([{"key": "cloud.google.com/impending-node-termination", "effect": "NoExecute"}])"));
  EXPECT_FALSE(is_cordoned(R"([{"key": "ToBeDeletedByClusterAutoscaler", "effect": "PreferNoSchedule"}])"));
  EXPECT_FALSE(is_cordoned(R"([{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])"));
  EXPECT_FALSE(is_cordoned(R"([7, null, {"key": 7}])"));
  EXPECT_FALSE(is_cordoned(R"("x")"));
}

TEST(Machines, AreLookedAtWhereAPlanNeedsThem) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(2));
  EXPECT_FALSE(NeedsMachines(cluster.Observe())) << "it is a look at every pod there is";
  cluster.job().move_request = "worker-0";
  EXPECT_TRUE(NeedsMachines(cluster.Observe()));
  cluster.job().status.move = api::MoveStatus{.request = "worker-0"};
  EXPECT_FALSE(NeedsMachines(cluster.Observe())) << "taken up";
  cluster.job().spec.workers.replicas = 1;
  EXPECT_TRUE(NeedsMachines(cluster.Observe())) << "one has to go";
  cluster.Settle();
  EXPECT_FALSE(NeedsMachines(cluster.Observe())) << "it has been asked";
}

}  // namespace
}  // namespace attune::controller::machines_test
