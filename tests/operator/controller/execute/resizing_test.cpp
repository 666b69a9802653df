// Resizes as the API server meets them: the calls that are made, and clusters that cannot or do not let the operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

void Want(ExecutorRig& rig, const char* cpu) {
  const Json patch = {{"spec", {{"workers", {{"resources", {{"cpu", {{"target", cpu}}}}}}}}}};
  ASSERT_TRUE(rig.real.Patch(kube::kTrainingJobs, {"default", "j"}, kube::PatchType::kMerge, patch).ok());
}

// Three workers that were made with a limit of one core.
void BringUpLimited(ExecutorRig& rig) {
  Want(rig, "1");
  rig.BringUp();
  rig.api.ForgetCalls();
}

ContainerFigures Asked(ExecutorRig& rig, const std::string& pod) { return ObservePod(*rig.Pod(pod)).resize.asked; }

auto CallsWith(const ExecutorRig& rig, const std::string& text) {
  return std::ranges::count_if(rig.api.calls(), [&](const std::string& call) { return call.find(text) != call.npos; });
}

TEST(ResizingTest, TheSubresourceIsPatchedOncePerPodAndRememberedOnIt) {
  ExecutorRig rig(1, 3);
  BringUpLimited(rig);
  Want(rig, "1500m");
  rig.Run(seconds(10));
  for (const char* pod : {"j-worker-0", "j-worker-1", "j-worker-2"}) {
    EXPECT_EQ(CallsWith(rig, std::string("patch Pod ") + pod + "/resize"), 1) << pod;
    EXPECT_EQ(Asked(rig, pod).cpu, (ResourceFigures{1500, 1500})) << pod;
    EXPECT_EQ(ObservePod(*rig.Pod(pod)).resize.record.to.cpu, 1500) << pod;
  }
  EXPECT_THAT(rig.Condition(api::kReconfiguring), StartsWith("True/ResizingPods"));
}

// The resizes meet this fault, and all else goes well.
void RefuseResizes(ExecutorRig& rig, const Status& status) {
  rig.api.SetJudge([status](const ApiCall& call) {
    return call.subresource == "resize" ? std::optional<Fault>({.status = status}) : std::nullopt;
  });
}

TEST(ResizingTest, AClusterThatCannotIsToldOnceAndHoldsNothingUp) {
  const Status no_such = Error(StatusCode::kNotFound, "the server could not find the requested resource");
  const Status no_right = Error(StatusCode::kPermissionDenied,
                                "pods \"j-worker-0\" is forbidden: User \"o\" cannot patch resource \"pods/resize\"");
  for (const auto& [status, reason] :
       {std::pair(no_such, kReasonResizeNotSupported), std::pair(no_right, kReasonForbidden)}) {
    ExecutorRig rig(1, 3);
    BringUpLimited(rig);
    RefuseResizes(rig, status);
    Want(rig, "2");
    rig.Scale(4);
    rig.Run(seconds(60));
    const auto reasons = rig.EventReasons();
    EXPECT_EQ(std::ranges::count(reasons, std::string(reason)), 1);
    EXPECT_LE(CallsWith(rig, "/resize"), 20) << "tried from time to time, on one pod";
    EXPECT_THAT(rig.Condition(api::kReconfiguring),
                testing::AllOf(StartsWith("False/ResizeNotSupported: resizing pod default/j-worker-"),
                               HasSubstr("Pods that are made from now on have the figures of the spec")));
    EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith("True/" + std::string(reason)));
    ASSERT_TRUE(rig.Pod("j-worker-3")) << "workers are added";
    EXPECT_EQ(Asked(rig, "j-worker-3").cpu.limit, 2000);
    rig.api.SetJudge({});
    rig.Run(seconds(60));
    EXPECT_EQ(Asked(rig, "j-worker-0").cpu.limit, 2000) << "the cluster has been updated";
    EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith("False/"));
  }
}

TEST(ResizingTest, AnAnswerThatIsLostIsNoSecondResize) {
  ExecutorRig rig(1, 3);
  BringUpLimited(rig);
  rig.api.SetJudge([&](const ApiCall& call) {
    return call.subresource == "resize"
               ? std::optional<Fault>({.status = Error(StatusCode::kUnavailable, "gone"), .carried_out = true})
               : std::nullopt;
  });
  Want(rig, "2");
  rig.Run(seconds(20));
  EXPECT_EQ(CallsWith(rig, "patch Pod j-worker-1/resize"), 1);
  EXPECT_EQ(Asked(rig, "j-worker-1").cpu.limit, 2000);
}

TEST(ResizingTest, AnOperatorThatDiesAtAnyCallIsContinued) {
  for (const bool carried_out : {false, true}) {
    for (int at = 0; at < 8; ++at) {
      ExecutorRig rig(1, 2);
      BringUpLimited(rig);
      int calls = 0;
      rig.api.SetJudge([&](const ApiCall& call) {
        const bool is_act = call.verb == "patch" && call.kind == "Pod";
        return is_act && calls++ == at ? std::optional<Fault>({.carried_out = carried_out, .operator_dies = true})
                                       : std::nullopt;
      });
      Want(rig, "2");
      rig.Run(seconds(20));
      EXPECT_EQ(Asked(rig, "j-worker-0").cpu.limit, 2000) << at;
      EXPECT_EQ(Asked(rig, "j-worker-1").cpu.limit, 2000) << at;
      EXPECT_EQ(ObservePod(*rig.Pod("j-worker-1")).resize.record.from.cpu, 1000) << at;
    }
  }
}

}  // namespace
}  // namespace attune::controller
