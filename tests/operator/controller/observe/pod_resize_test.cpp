#include "operator/controller/observe/pod_resize.h"

#include <gtest/gtest.h>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/timestamp.h"

namespace attune::controller::pod_resize_test {
namespace {

using kube::Json;

Json Pod(const char* conditions, const char* actual = "null") {
  Json pod = Json::parse(R"({
    "metadata": {"name": "a-worker-0", "labels": {"attune.dev/role": "worker", "attune.dev/index": "0"}},
    "spec": {"containers": [
      {"name": "helper", "resources": {"limits": {"cpu": "9"}}},
      {"name": "worker", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "memory": "1Gi"}}}]},
    "status": {"containerStatuses": [{"name": "helper"}, {"name": "worker"}]}})");
  pod["status"]["conditions"] = Json::parse(conditions);
  if (const Json resources = Json::parse(actual); !resources.is_null()) {
    pod["status"]["containerStatuses"][1]["resources"] = resources;
  }
  return pod;
}

PodResize Resize(const Json& pod) { return ObservePod(ProjectPod(pod)).resize; }

TEST(PodResize, FiguresAreThoseOfTheRolesContainer) {
  const PodResize resize = Resize(Pod("[]"));
  EXPECT_EQ(resize.asked, (ContainerFigures{.cpu = {500, 2000}, .memory = {1 << 30, 1 << 30}}));
  EXPECT_FALSE(resize.actual) << "a machine that does not say";
  EXPECT_EQ(resize.state, ResizeState::kNone);
  EXPECT_EQ(Describe(ShownOf(resize.asked)), "cpu 2, memory 1Gi");
  EXPECT_FALSE(IsSettled(resize));
}

TEST(PodResize, IsSettledOnceTheMachineHasGivenAll) {
  constexpr char kGiven[] = R"({"requests": {"cpu": "500m", "memory": "1Gi"},
                                "limits": {"cpu": "2", "memory": "1073739000"}})";
  EXPECT_TRUE(IsSettled(Resize(Pod("[]", kGiven)))) << "whole pages";
  EXPECT_FALSE(IsSettled(Resize(Pod(R"([{"type": "PodResizeInProgress", "status": "True"}])", kGiven))));
  constexpr char kBefore[] = R"({"requests": {"cpu": "500m", "memory": "1Gi"},
                                 "limits": {"cpu": "1", "memory": "1Gi"}})";
  EXPECT_FALSE(IsSettled(Resize(Pod("[]", kBefore))));
}

TEST(PodResize, StatesAreWhatTheKubeletSays) {
  struct Case {
    const char* conditions;
    ResizeState state;
    const char* message;
  };
  for (const Case& c : {
           Case{R"([{"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room"}])",
                ResizeState::kDeferred, "no room"},
           Case{R"([{"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "too much"}])",
                ResizeState::kInfeasible, "too much"},
           Case{R"([{"type": "PodResizePending", "status": "False", "reason": "Infeasible"}])", ResizeState::kNone, ""},
           Case{R"([{"type": "PodResizeInProgress", "status": "True"}])", ResizeState::kInProgress, ""},
           Case{R"([{"type": "PodResizeInProgress", "status": "True", "reason": "Error", "message": "busy"}])",
                ResizeState::kError, "busy"},
           Case{R"([{"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room"},
                    {"type": "PodResizeInProgress", "status": "True"}])",
                ResizeState::kDeferred, "no room"},
           Case{R"([3, null, {"type": 4}])", ResizeState::kNone, ""},
       }) {
    const PodResize resize = Resize(Pod(c.conditions));
    EXPECT_EQ(resize.state, c.state) << c.conditions;
    EXPECT_EQ(resize.message, c.message) << c.conditions;
  }
  const PodResize since = Resize(
      Pod(R"([{"type": "PodResizeInProgress", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}])"));
  ASSERT_TRUE(since.since);
  EXPECT_EQ(ToRfc3339(*since.since).substr(0, 19), "2026-01-02T03:04:05");
}

TEST(PodResize, RecordsSurviveTheirText) {
  for (const ResizeRecord& record :
       {ResizeRecord{}, ResizeRecord{.from = {1000, 1 << 30}, .to = {2500, {}}, .done = true},
        ResizeRecord{.from = {}, .to = {{}, 16 << 20}, .reported_deferred = true, .reported_infeasible = true}}) {
    EXPECT_EQ(ParseResizeRecord(ToText(record)), record) << ToText(record);
  }
  for (const char* text : {"", "{", "[]", "3", R"({"to": 4})", R"({"to": {"cpu": []}, "done": "yes"})"}) {
    EXPECT_EQ(ParseResizeRecord(text), ResizeRecord()) << text;
  }
  EXPECT_EQ(ParseResizeRecord(std::string(5000, ' ') + "{}"), ResizeRecord());
}

}  // namespace
}  // namespace attune::controller::pod_resize_test
