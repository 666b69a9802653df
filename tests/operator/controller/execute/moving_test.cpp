// A worker that moves, as the API server meets it: the calls that are made, and an operator that dies at any of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller::moving_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsSupersetOf;

Json Node(const char* name) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}}},
          {"status",
           {{"allocatable", {{"cpu", "8"}, {"memory", "16Gi"}}},
            {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

void Ask(ExecutorRig& rig, const std::string& request) {
  const Json patch = {{"metadata", {{"annotations", {{api::kAnnotationMove, request}}}}}};
  ASSERT_TRUE(rig.real.Patch(kube::kTrainingJobs, {"default", "j"}, kube::PatchType::kMerge, patch).ok());
}

// Kubelet and sidecar of the one more: it runs on node-2 and has finished a step. And the one that was asked leaves.
void LetTheWorldFollow(ExecutorRig& rig) {
  if (rig.Pod("j-worker-2") && kube::StringAt(*rig.Pod("j-worker-2"), {"spec", "nodeName"}).empty()) {
    ASSERT_TRUE(rig.real.Bind({"default", "j-worker-2"}, "node-2").ok());
    rig.Start("j-worker-2");
  }
  for (const std::string& name : rig.PodNames()) {  // said again to an operator that has just begun
    if (IsAlive(ObservePod(*rig.Pod(name)))) rig.Connect(name, true);
  }
  rig.Say(1);
  for (telemetry::PodSample& sample : rig.store.sample.pods) {
    if (sample.pod == "j-worker-2") sample.window.mutable_worker()->set_clock(1);
  }
  const auto old = rig.Pod("j-worker-0");
  if (old && ObservePod(*old).drain_deadline && !HasEnded(ObservePod(*old))) rig.Exit("j-worker-0", 0);
  rig.ConfirmDeletions();
}

TEST(MovingTest, AnOperatorThatDiesAtAnyCallIsContinued) {
  for (const bool carried_out : {false, true}) {
    int calls = 0;
    for (int at = 0; at == 0 || at < calls; ++at) {
      SCOPED_TRACE(std::to_string(at) + (carried_out ? ", carried out" : ""));
      ExecutorRig rig(1, 2);
      for (const char* name : {"node-1", "node-2"}) ASSERT_TRUE(rig.real.Create(kube::kNodes, Node(name)).ok());
      rig.BringUp();
      calls = 0;
      rig.api.SetJudge([&](const ApiCall& call) {
        const bool is_act = call.verb == "patch" || call.verb == "create" || call.verb == "delete";
        const bool dies = is_act && call.kind != "Event" && calls++ == at;
        return dies ? std::optional<Fault>({.carried_out = carried_out, .operator_dies = true}) : std::nullopt;
      });
      Ask(rig, "worker-0 to=node-2");
      for (int round = 0; round < 12; ++round) {
        rig.Run(seconds(2));
        LetTheWorldFollow(rig);
      }
      EXPECT_THAT(rig.PodNames(), testing::UnorderedElementsAre("j-server-0", "j-worker-1", "j-worker-2"));
      ASSERT_TRUE(rig.Status().move);
      EXPECT_EQ(rig.Status().move->state, api::kMoved);
      EXPECT_THAT(rig.Status().move->message, HasSubstr("j-worker-0 moved from "));
      EXPECT_EQ(rig.Status().workers.failed, 0);
      EXPECT_LE(std::ranges::count(rig.EventReasons(), std::string(kEventPodMoved)), 1);
    }
    EXPECT_GE(calls, 4) << "the record, the pod, the mark, the deletion";
  }
}

}  // namespace
}  // namespace attune::controller::moving_test
