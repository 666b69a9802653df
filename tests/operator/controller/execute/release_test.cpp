// After an uninstall: jobs train on, and a client that deletes one is rid of its pods.
#include "operator/controller/execute/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller::release_test {
namespace {

TEST(ReleaseTest, PodsOfJobsThatNoOperatorWatchesCanBeDeleted) {
  ExecutorRig rig(2, 2);
  rig.BringUp();
  ASSERT_EQ(rig.PodNames().size(), 4U);
  const auto released = ReleasePods(rig.real, "");
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_EQ(*released, 4);
  EXPECT_EQ(rig.PodNames().size(), 4U) << "they train on";
  EXPECT_EQ(*ReleasePods(rig.real, ""), 0) << "nothing is left to do";
  rig.DeleteJob();
  rig.ConfirmDeletions();
  EXPECT_THAT(rig.PodNames(), testing::IsEmpty());
}

TEST(ReleaseTest, AnotherFinalizerAndOtherNamespacesAreLeftAlone) {
  ExecutorRig rig(1, 1);
  rig.BringUp();
  kube::Json finalizers = kube::At(*rig.Pod("j-worker-0"), {"metadata", "finalizers"});
  ASSERT_EQ(finalizers.size(), 1U);
  finalizers.push_back("example.com/other");
  ASSERT_TRUE(rig.real
                  .Patch(kube::kPods, {"default", "j-worker-0"}, kube::PatchType::kMerge,
                         {{"metadata", {{"finalizers", finalizers}}}})
                  .ok());
  EXPECT_EQ(*ReleasePods(rig.real, "elsewhere"), 0);
  EXPECT_EQ(*ReleasePods(rig.real, "default"), 2);
  EXPECT_EQ(kube::At(*rig.Pod("j-worker-0"), {"metadata", "finalizers"}), kube::Json::array({"example.com/other"}));
}

TEST(ReleaseTest, OnePodThatCannotBePatchedHoldsUpNoOther) {
  ExecutorRig rig(1, 3);
  rig.BringUp();
  rig.api.SetJudge([](const ApiCall& call) {
    return call.name == "j-worker-0" ? std::optional<Fault>(Fault{.status = Error(StatusCode::kUnavailable, "busy")})
                                     : std::nullopt;
  });
  EXPECT_FALSE(ReleasePods(rig.api, "").ok());
  rig.api.SetJudge({});
  EXPECT_EQ(*ReleasePods(rig.api, ""), 1);
}

}  // namespace
}  // namespace attune::controller::release_test
