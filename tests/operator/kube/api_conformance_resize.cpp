// Resources of pods and the subresource "resize", as far as the API server alone answers for them: no pod here is
// placed on a node.
#include <gmock/gmock.h>

#include <string>

#include "tests/operator/kube/api_conformance.h"

namespace attune::kube {
namespace {

using ::testing::HasSubstr;

Json WithResources(Json pod, const Json& resources) {
  pod["spec"]["containers"][0]["resources"] = resources;
  return pod;
}

Json Amounts(const std::string& cpu, const std::string& memory) { return {{"cpu", cpu}, {"memory", memory}}; }

// A request and a limit of each: Burstable.
const Json kBurstable = {{"requests", Amounts("100m", "64Mi")}, {"limits", Amounts("200m", "128Mi")}};
const Json kGuaranteed = {{"requests", Amounts("200m", "128Mi")}, {"limits", Amounts("200m", "128Mi")}};

Json PatchOfMain(const Json& resources) {
  return {{"spec", {{"containers", Json::array({{{"name", "main"}, {"resources", resources}}})}}}};
}

const Json& Resources(const Json& pod) { return At(pod, {"spec", "containers"})[0]["resources"]; }

}  // namespace

TEST_P(ApiConformance, ARequestThatIsNotGivenIsTheLimit) {
  const Json pod = Created(kPods, WithResources(Pod("p"), {{"limits", Amounts("200m", "64Mi")}}));
  EXPECT_EQ(Resources(pod)["requests"], Amounts("200m", "64Mi"));
  const Json partly =
      Created(kPods, WithResources(Pod("q"), {{"limits", Amounts("200m", "64Mi")}, {"requests", {{"cpu", "50m"}}}}));
  EXPECT_EQ(Resources(partly)["requests"], Amounts("50m", "64Mi"));
}

TEST_P(ApiConformance, TheStatusOfAPodNamesItsQualityOfService) {
  const auto class_of = [&](const std::string& suffix, const Json& resources) {
    return std::string(StringAt(Created(kPods, WithResources(Pod(suffix), resources)), {"status", "qosClass"}));
  };
  EXPECT_EQ(class_of("a", Json::object()), "BestEffort");
  EXPECT_EQ(class_of("b", {{"requests", {{"cpu", "100m"}}}}), "Burstable");
  EXPECT_EQ(class_of("c", {{"limits", {{"cpu", "100m"}}}}), "Burstable") << "memory has no limit";
  EXPECT_EQ(class_of("d", {{"limits", Amounts("0.1", "64Mi")}}), "Guaranteed");
  EXPECT_EQ(class_of("e", kBurstable), "Burstable");
}

TEST_P(ApiConformance, ARequestAboveItsLimitIsInvalidArgument) {
  const auto refused = api_->Create(
      kPods, WithResources(Pod("p"), {{"limits", Amounts("200m", "64Mi")}, {"requests", {{"cpu", "300m"}}}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(refused.status())), HasSubstr("must be less than or equal to cpu limit of 200m"));
}

TEST_P(ApiConformance, ResourcesChangeThroughResizeOnly) {
  const Json before = Created(kPods, WithResources(Pod("p"), kBurstable));
  const Json patch = PatchOfMain({{"limits", {{"cpu", "600m"}}}, {"requests", {{"cpu", "300m"}}}});
  EXPECT_EQ(api_->Patch(kPods, Key("p"), PatchType::kStrategicMerge, patch).status().code(),
            StatusCode::kInvalidArgument);
  const StatusOr<Json> resized = api_->Patch(kPods, Key("p"), PatchType::kStrategicMerge, patch, "resize");
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ(Resources(*resized)["limits"], Amounts("600m", "128Mi"));
  EXPECT_EQ(Resources(*resized)["requests"], Amounts("300m", "64Mi"));
  EXPECT_EQ(Generation(*resized), Generation(before) + 1);
  EXPECT_EQ(StringAt(*resized, {"status", "qosClass"}), "Burstable");
  const StatusOr<Json> again = api_->Patch(kPods, Key("p"), PatchType::kStrategicMerge, patch, "resize");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ResourceVersion(*again), ResourceVersion(*resized)) << "nothing has changed";
}

TEST_P(ApiConformance, ResizeTakesEveryKindOfChange) {
  Created(kPods, WithResources(Pod("p"), kGuaranteed));
  const auto expect = [&](const StatusOr<Json>& resized, const std::string& cpu) {
    ASSERT_TRUE(resized.ok()) << resized.status();
    EXPECT_EQ(Resources(*resized)["limits"]["cpu"], cpu);
    EXPECT_EQ(Resources(*resized)["requests"]["cpu"], cpu);
    EXPECT_EQ(Resources(*resized)["limits"]["memory"], "128Mi");
  };
  const Json merge =
      WithResources(Pod("p"), {{"requests", Amounts("300m", "128Mi")}, {"limits", Amounts("300m", "128Mi")}});
  expect(api_->Patch(kPods, Key("p"), PatchType::kMerge, {{"spec", {{"containers", merge["spec"]["containers"]}}}},
                     "resize"),
         "300m");
  const std::string path = "/spec/containers/0/resources/";
  expect(api_->Patch(kPods, Key("p"), PatchType::kJson,
                     {{{"op", "replace"}, {"path", path + "limits/cpu"}, {"value", "400m"}},
                      {{"op", "replace"}, {"path", path + "requests/cpu"}, {"value", "400m"}}},
                     "resize"),
         "400m");
  Json config = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", Pod("p")["metadata"]}};
  config["metadata"].erase("labels");
  config["spec"] = PatchOfMain({{"limits", {{"cpu", "500m"}}}, {"requests", {{"cpu", "500m"}}}})["spec"];
  expect(api_->Apply(kPods, config, {.field_manager = "resizer", .force = true, .subresource = "resize"}), "500m");
  Json whole = Read(kPods, "p");
  whole["spec"]["containers"][0]["resources"] = {{"requests", Amounts("700m", "128Mi")},
                                                 {"limits", Amounts("700m", "128Mi")}};
  expect(api_->Update(kPods, whole, "resize"), "700m");
}

TEST_P(ApiConformance, ResizeReachesNothingButResources) {
  Created(kPods, WithResources(Pod("p"), kGuaranteed));
  Json patch = PatchOfMain({{"limits", {{"memory", "256Mi"}}}, {"requests", {{"memory", "256Mi"}}}});
  patch["spec"]["containers"][0]["image"] = "another";
  patch["metadata"] = {{"labels", {{"added", "by-resize"}}}};
  patch["status"] = {{"phase", "Failed"}};
  const StatusOr<Json> resized = api_->Patch(kPods, Key("p"), PatchType::kStrategicMerge, patch, "resize");
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ(Resources(*resized)["limits"]["memory"], "256Mi");
  EXPECT_EQ((*resized)["spec"]["containers"][0]["image"], "absent");
  EXPECT_EQ(Label(*resized, "added"), "");
  EXPECT_EQ(StringAt(*resized, {"status", "phase"}), "Pending");
}

TEST_P(ApiConformance, ResizesThatAPodMayNotHaveAreInvalidArgument) {
  const struct {
    const char* what;
    Json resources, patch;
    const char* why;
  } cases[] = {
      {"a first request makes another class",
       Json::object(),
       {{"requests", {{"cpu", "100m"}}}},
       "Pod QOS Class may not change as a result of resizing"},
      {"a limit alone parts from its request",
       kGuaranteed,
       {{"limits", {{"cpu", "300m"}}}},
       "Pod QOS Class may not change as a result of resizing"},
      {"a request meets its limit",
       {{"requests", Amounts("100m", "128Mi")}, {"limits", Amounts("200m", "128Mi")}},
       {{"requests", {{"cpu", "200m"}}}},
       "Pod QOS Class may not change as a result of resizing"},
      {"a limit is removed", kBurstable, {{"limits", {{"memory", nullptr}}}}, "resource limits cannot be removed"},
      {"a request is removed",
       {{"requests", Amounts("100m", "64Mi")}},
       {{"requests", {{"cpu", nullptr}}}},
       "resource requests cannot be removed"},
      {"a request exceeds its limit",
       kBurstable,
       {{"requests", {{"cpu", "300m"}}}},
       "must be less than or equal to cpu limit of 200m"},
      {"another resource",
       kBurstable,
       {{"limits", {{"ephemeral-storage", "1Gi"}}}},
       "only cpu and memory resources are mutable"},
      {"less than nothing", kBurstable, {{"limits", {{"cpu", "-1"}}}}, "must be greater than or equal to 0"},
  };
  int number = 0;
  for (const auto& given : cases) {
    SCOPED_TRACE(given.what);
    const std::string suffix = "p" + std::to_string(number++);
    const Json before = Created(kPods, WithResources(Pod(suffix), given.resources));
    const auto refused =
        api_->Patch(kPods, Key(suffix), PatchType::kStrategicMerge, PatchOfMain(given.patch), "resize");
    ASSERT_FALSE(refused.ok()) << refused->dump();
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(refused.status())), HasSubstr(given.why));
    EXPECT_EQ(ResourceVersion(Read(kPods, suffix)), ResourceVersion(before));
  }
}

TEST_P(ApiConformance, ResizeKeepsTheContainersAndTheirPolicies) {
  Created(kPods, WithResources(Pod("p"), kBurstable));
  const auto message = [&](const Json& patch, PatchType type = PatchType::kStrategicMerge) {
    const auto refused = api_->Patch(kPods, Key("p"), type, patch, "resize");
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    return std::string(Message(refused.status()));
  };
  const Json added = {{"name", "other"}, {"image", "absent"}};
  EXPECT_THAT(message({{"spec", {{"containers", Json::array({added})}}}}),
              HasSubstr("containers may not be added or removed on resize"));
  const Json renamed = {{"op", "replace"}, {"path", "/spec/containers/0/name"}, {"value", "renamed"}};
  EXPECT_THAT(message(Json::array({renamed}), PatchType::kJson),
              HasSubstr("containers may not be renamed or reordered on resize"));
  Json policy = PatchOfMain(Json::object());
  policy["spec"]["containers"][0]["resizePolicy"] =
      Json::array({{{"resourceName", "cpu"}, {"restartPolicy", "RestartContainer"}}});
  EXPECT_THAT(message(policy), HasSubstr("only cpu and memory resources are mutable"));
}

TEST_P(ApiConformance, OfInitContainersOnlySidecarsAreResized) {
  Json pod = WithResources(Pod("p"), kBurstable);
  pod["spec"]["initContainers"] = {
      {{"name", "side"}, {"image", "absent"}, {"restartPolicy", "Always"}, {"resources", kBurstable}},
      {{"name", "first"}, {"image", "absent"}, {"resources", kBurstable}}};
  Created(kPods, pod);
  const auto patch = [&](const std::string& name) {
    const Json container = {{"name", name}, {"resources", {{"limits", {{"cpu", "400m"}}}}}};
    return api_->Patch(kPods, Key("p"), PatchType::kStrategicMerge,
                       {{"spec", {{"initContainers", Json::array({container})}}}}, "resize");
  };
  const StatusOr<Json> resized = patch("side");
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ((*resized)["spec"]["initContainers"][0]["resources"]["limits"]["cpu"], "400m");
  const StatusOr<Json> refused = patch("first");
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(refused.status())),
              HasSubstr("resources for non-sidecar init containers are immutable"));
}

TEST_P(ApiConformance, OnlyPodsAreResized) {
  Created(job_type(), Job("a"));
  EXPECT_EQ(api_->Patch(job_type(), Key("a"), PatchType::kMerge, {{"spec", Json::object()}}, "resize").status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(api_->Patch(kPods, Key("absent"), PatchType::kMerge, PatchOfMain(Json::object()), "resize").status().code(),
            StatusCode::kNotFound);
}

}  // namespace attune::kube
