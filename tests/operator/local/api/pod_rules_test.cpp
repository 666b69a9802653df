// What the conformance suite (tests/operator/kube/api_conformance.cpp) cannot bring about on a real server.
#include "operator/local/api/rules/pod_rules.h"

#include <gmock/gmock.h>

#include "operator/local/api/rules/kinds.h"
#include "tests/operator/local/objects.h"

namespace attune::local::pod_rules_test {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using testing::MakePod;

Json Burstable() {
  Json pod = MakePod("a");
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "100m"}}}, {"limits", {{"cpu", "200m"}}}};
  return pod;
}

Json Resized(Json pod) {
  pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "300m";
  return pod;
}

std::string WhyNot(const Json& old) { return std::string(Message(CheckPodResize(old, Resized(old)))); }

TEST(PodRulesTest, SomePodsAreNeverResized) {
  Json pod = Burstable();
  pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x";
  EXPECT_THAT(WhyNot(pod), HasSubstr("static pods cannot be resized"));
  pod = Burstable();
  pod["spec"]["os"]["name"] = "windows";
  EXPECT_THAT(WhyNot(pod), HasSubstr("windows pods cannot be resized"));
  pod = Burstable();
  pod["spec"]["resources"]["limits"]["cpu"] = "1";
  EXPECT_THAT(WhyNot(pod), HasSubstr("pods with pod-level resources cannot be resized"));
}

TEST(PodRulesTest, ARunningContainerWithoutResourcesInTheStatusIsOnANodeThatCannotResize) {
  Json pod = Burstable();
  const Json running = {{"name", "main"}, {"state", {{"running", Json::object()}}}};
  pod["status"]["containerStatuses"] = Json::array({running});
  EXPECT_THAT(WhyNot(pod), HasSubstr("Pod running on node without support for resize"));
  pod["status"]["containerStatuses"][0]["resources"] = Json::object();
  EXPECT_EQ(WhyNot(pod), "");
  pod["status"]["containerStatuses"][0] = {{"name", "main"},
                                           {"state", {{"running", nullptr}, {"terminated", {{"exitCode", 0}}}}}};
  EXPECT_EQ(WhyNot(pod), "") << "an ended pod takes the figures and nothing comes of it, as on a server";
}

TEST(PodRulesTest, SeveralMistakesAreNamedTogether) {
  Json next = Burstable();
  next["spec"]["containers"][0]["resources"] = Json::object();
  EXPECT_EQ(Message(CheckPodResize(Burstable(), next)),
            "Pod \"a\" is invalid: [spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of "
            "resizing, spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed, "
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed]");
}

TEST(PodRulesTest, AmountsAreComparedAsQuantities) {
  Json pod = MakePod("a");
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "0.7"}, {"memory", "1Gi"}}},
                                               {"limits", {{"cpu", "700m"}, {"memory", "1024Mi"}}}};
  EXPECT_EQ(CheckPodResources(pod), OkStatus());
  EXPECT_EQ(QosClass(pod), "Guaranteed");
  pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = 0.7;
  EXPECT_EQ(QosClass(pod), "Guaranteed");
  pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = 0;
  EXPECT_EQ(QosClass(pod), "Burstable") << "an amount of zero is none";
}

TEST(PodRulesTest, WhatIsNoQuantityOrNoPolicyIsRefused) {
  const auto policy = [](const std::string& resource, const std::string& restart) {
    return Json{{"resourceName", resource}, {"restartPolicy", restart}};
  };
  const Json none = Json::array(), cpu = policy("cpu", "NotRequired");
  const struct {
    const char* what;
    Json resources, policies;
    const char* why;
  } cases[] = {
      {"no quantity", {{"limits", {{"memory", "plenty"}}}}, none, "resources.limits[memory]: Invalid value"},
      {"neither text nor number", {{"limits", {{"cpu", true}}}}, none, "quantities must match"},
      {"a list", {{"requests", Json::array({1})}}, none, "resources.requests: Invalid value: must be a map"},
      {"no map", 7, none, "resources: Invalid value: must be a map"},
      {"an unknown resource", Json::object(), Json::array({policy("disk", "NotRequired")}),
       "Unsupported value: \"disk\""},
      {"an unknown policy", Json::object(), Json::array({policy("cpu", "Maybe")}), "Unsupported value: \"Maybe\""},
      {"no name", Json::object(), Json::array({policy("", "NotRequired")}), "Required value"},
      {"twice", Json::object(), Json::array({cpu, cpu}), "Duplicate value: cpu"},
      {"a pod that never restarts", Json::object(), Json::array({policy("cpu", "RestartContainer")}),
       "must be 'NotRequired' when `restartPolicy` is 'Never'"},
  };
  for (const auto& given : cases) {
    SCOPED_TRACE(given.what);
    Json pod = MakePod("a");
    pod["spec"]["restartPolicy"] = "Never";
    pod["spec"]["containers"][0]["resources"] = given.resources;
    pod["spec"]["containers"][0]["resizePolicy"] = given.policies;
    EXPECT_THAT(std::string(Message(CheckPodResources(pod))), HasSubstr(given.why));
  }
}

TEST(PodRulesTest, ResizesOfAnyFormAreAnswered) {
  const Json main = {{"name", "main"}, {"resources", nullptr}};
  const Json forms[] = {nullptr,
                        3,
                        "text",
                        Json::array(),
                        Json::array({3}),
                        Json::array({nullptr}),
                        {{"main", 1}},
                        Json::array({{{"name", 7}, {"resources", 7}}}),
                        Json::array({main})};
  for (const Json& form : forms) {
    SCOPED_TRACE(form.dump());
    for (const char* list : {"containers", "initContainers"}) {
      Json next = Burstable();
      next["spec"][list] = form;
      KeepAllButResources(Burstable(), next);
      const bool none_asked = std::string_view(list) == "initContainers" && form.empty();
      EXPECT_EQ(CheckPodResize(Burstable(), next).ok(), none_asked);
    }
    Json next = Burstable();
    next["spec"] = form;
    KeepAllButResources(Burstable(), next);
    EXPECT_FALSE(CheckPodResize(Burstable(), next).ok());
  }
}

TEST(PodRulesTest, DefaultsLeaveWhatIsNoMapToTheChecks) {
  for (const Json& resources : {Json(3), Json{{"limits", 3}}, Json{{"limits", {{"cpu", "1"}}}, {"requests", 3}}}) {
    Json container = {{"name", "main"}, {"resources", resources}};
    SetResourceDefaults(container);
    EXPECT_EQ(container["resources"], resources);
  }
}

}  // namespace
}  // namespace attune::local::pod_rules_test
