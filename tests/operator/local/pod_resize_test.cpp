#include "operator/local/pods/pod_resize.h"

#include <gmock/gmock.h>

#include "operator/local/pods/pod_plan.h"
#include "operator/local/pods/pod_status.h"
#include "tests/operator/local/objects.h"

namespace attune::local::pod_resize_test {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::Json;
using testing::MakePod;

constexpr uint64_t kMi = 1 << 20;

Json Figures(const std::string& cpu, const std::string& memory) {
  const Json amounts = {{"cpu", cpu}, {"memory", memory}};
  return {{"requests", amounts}, {"limits", amounts}};
}

// A running pod of a "main" container, on a node of 2 cores and 1 GiB where other pods ask for half a core and 512 MiB.
struct Fixture {
  explicit Fixture(const Json& resources = Figures("200m", "128Mi")) {
    object = MakePod("a");
    object["metadata"]["generation"] = 1;
    object["spec"]["containers"][0]["resources"] = resources;
    Begin();
  }
  void Begin() {
    record.specs = ContainersOf(object);
    record.containers.resize(record.specs.size());
    record.resources = ResourcesOf(object, record.specs.size());
    running.assign(record.specs.size(), true);
    used.assign(record.specs.size(), 50 * kMi);
  }
  ResizeInput Input() const { return {object, record.specs, running, used, room}; }
  void Ask(const Json& resources, size_t container = 0) {
    object["spec"]["containers"][container]["resources"] = resources;
    object["metadata"]["generation"] = kube::Generation(object) + 1;
  }
  // What the agent does at one look, in words; control groups refuse with `refusal` unless it is empty.
  std::string Look(const std::string& refusal = "") {
    if (!ResizeWanted(Input(), record.resources)) return "nothing";
    std::string words;
    for (const ResizeStep& step : PlanResize(Input(), record.resources, wall)) {
      for (const auto& [asked, name] : {std::pair(step.memory, "memory"), std::pair(step.cpu, "cpu")}) {
        if (!asked) continue;
        words += record.specs[step.container].name + " " + name + " ";
        if (refusal.empty()) {
          OnResized(record.resources, step.container, name);
        } else {
          OnResizeFailed(record.resources, record.specs[step.container].name, refusal, wall);
        }
      }
    }
    SettleResize(Input(), record.resources);
    return words;
  }
  Json Status() const { return StatusOf(record, object, wall); }
  Json Condition(const std::string& type) const {
    const Json status = Status();
    for (const Json& condition : status["conditions"]) {
      if (condition["type"] == type) return condition;
    }
    return nullptr;
  }
  std::string Conditions() const {
    std::string words;
    for (const char* type : {"PodResizePending", "PodResizeInProgress"}) {
      const Json condition = Condition(type);
      if (!condition.is_null()) words += std::string(type) + "/" + condition.value("reason", "") + " ";
    }
    return words;
  }
  Json InForce(size_t container = 0) const { return Status()["containerStatuses"][container]["resources"]; }

  Json object;
  PodRecord record;
  std::vector<bool> running;
  std::vector<std::optional<uint64_t>> used;
  NodeRoom room{.cores = 2, .memory = 1024.0 * kMi, .cores_of_others = 0.5, .memory_of_others = 512.0 * kMi};
  WallTime wall{seconds(1700000000)};
};

TEST(PodResizeTest, TheDecisionFollowsSpecFiguresUseAndRoom) {
  const Json small = Figures("200m", "128Mi");
  const Json cpu_requested = {{"requests", {{"cpu", "200m"}}}};
  const struct {
    const char* what;
    Json before, asked;
    const char *done, *conditions;
    bool in_force;
  } cases[] = {
      {"nothing new", small, small, "nothing", "", true},
      {"the same in other words", small, Figures("0.2", "134217728"), "nothing", "", true},
      {"more cpu", small, Figures("600m", "128Mi"), "main cpu ", "", true},
      {"less cpu", small, Figures("50m", "128Mi"), "main cpu ", "", true},
      {"more of both", small, Figures("1500m", "512Mi"), "main memory main cpu ", "", true},
      {"less memory than before, more than in use", small, Figures("200m", "64Mi"), "main memory ", "", true},
      {"less memory than in use", small, Figures("200m", "32Mi"), "", "PodResizeInProgress/Error ", false},
      {"as much memory as is in use, and more cpu", small, Figures("300m", "50Mi"), "", "PodResizeInProgress/Error ",
       false},
      {"more cpu than others leave", small, Figures("1600m", "128Mi"), "", "PodResizePending/Deferred ", false},
      {"more memory than others leave", small, Figures("200m", "513Mi"), "", "PodResizePending/Deferred ", false},
      {"all that others leave", small, Figures("1500m", "512Mi"), "main memory main cpu ", "", true},
      {"more cpu than the node has", small, Figures("2001m", "128Mi"), "", "PodResizePending/Infeasible ", false},
      {"more memory than the node has", small, Figures("200m", "2Gi"), "", "PodResizePending/Infeasible ", false},
      {"a limit above what the node has, requests within",
       small,
       {{"requests", {{"cpu", "200m"}, {"memory", "128Mi"}}}, {"limits", {{"cpu", "64"}, {"memory", "128Mi"}}}},
       "main cpu ",
       "",
       true},
      {"a request alone", cpu_requested, {{"requests", {{"cpu", "300m"}}}}, "main cpu ", "", true},
      {"a limit of memory is added",
       cpu_requested,
       {{"requests", {{"cpu", "200m"}, {"memory", "64Mi"}}}, {"limits", {{"memory", "64Mi"}}}},
       "main memory ",
       "",
       true},
      {"a limit of memory is added below what is in use",
       cpu_requested,
       {{"requests", {{"cpu", "200m"}, {"memory", "16Mi"}}}, {"limits", {{"memory", "16Mi"}}}},
       "",
       "PodResizeInProgress/Error ",
       false},
  };
  for (const auto& given : cases) {
    SCOPED_TRACE(given.what);
    Fixture f(given.before);
    f.Ask(given.asked);
    EXPECT_EQ(f.Look(), given.done);
    EXPECT_EQ(f.Conditions(), given.conditions);
    if (std::string(given.done) != "nothing") {
      EXPECT_EQ(f.InForce(), given.in_force ? given.asked : given.before);
    }
    if (*given.conditions == 0) {
      EXPECT_EQ(f.Look(), "nothing");
    }
  }
}

TEST(PodResizeTest, TheTextsAreAKubelets) {
  Fixture f;
  f.Ask(Figures("4", "128Mi"));
  f.Look();
  EXPECT_EQ(f.Condition("PodResizePending"), Json({{"type", "PodResizePending"},
                                                   {"status", "True"},
                                                   {"reason", "Infeasible"},
                                                   {"message",
                                                    "Node didn't have enough capacity: cpu, requested: 4000, capacity: "
                                                    "2000"},
                                                   {"observedGeneration", 2},
                                                   {"lastTransitionTime", "2023-11-14T22:13:20Z"}}));
  f.Ask(Figures("1600m", "128Mi"));
  f.Look();
  EXPECT_EQ(f.Condition("PodResizePending")["message"],
            "Node didn't have enough resource: cpu, requested: 1600, used: 500, capacity: 2000");
  f.Ask(Figures("200m", "32Mi"));
  f.Look();
  EXPECT_EQ(f.Conditions(), "PodResizeInProgress/Error ") << "the node has room: it is no longer pending";
  EXPECT_EQ(f.Condition("PodResizeInProgress")["message"],
            "cannot decrease memory limits: attempting to set container \"main\" memory limit (33554432) below current "
            "usage (52428800)");
}

TEST(PodResizeTest, OnlyRoomIsWaitedFor) {
  Fixture f;
  f.Ask(Figures("1600m", "128Mi"));
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Conditions(), "PodResizePending/Deferred ");
  EXPECT_EQ(f.Status()["containerStatuses"][0]["allocatedResources"]["cpu"], "200m");
  f.room.cores_of_others = 0.4;
  EXPECT_EQ(f.Look(), "main cpu ");
  EXPECT_EQ(f.Conditions(), "");
  EXPECT_EQ(f.Status()["containerStatuses"][0]["allocatedResources"]["cpu"], "1600m");
}

TEST(PodResizeTest, APodMayAskForLessOnANodeThatIsOvercommitted) {
  Fixture f;
  f.room.cores_of_others = 7;
  f.Ask(Figures("100m", "128Mi"));
  EXPECT_EQ(f.Look(), "main cpu ");
  f.Ask(Figures("150m", "128Mi"));
  f.Look();
  EXPECT_EQ(f.Conditions(), "PodResizePending/Deferred ");
}

TEST(PodResizeTest, OfSeveralResizesTheNewestCounts) {
  Fixture f;
  f.Ask(Figures("300m", "128Mi"));
  f.Ask(Figures("400m", "128Mi"));
  EXPECT_EQ(f.Look(), "main cpu ");
  EXPECT_EQ(f.InForce()["limits"]["cpu"], "400m");
  f.Ask(Figures("9", "128Mi"));
  f.Look();
  EXPECT_EQ(f.Conditions(), "PodResizePending/Infeasible ");
  f.Ask(Figures("400m", "128Mi"));
  f.Look();
  EXPECT_EQ(f.Conditions(), "") << "what was asked for is in force";
  EXPECT_EQ(f.Look(), "nothing");
}

TEST(PodResizeTest, WhatIsRefusedIsTriedAgainWithOneText) {
  Fixture f;
  f.Ask(Figures("200m", "32Mi"));
  f.Look();
  const Json first = f.Condition("PodResizeInProgress");
  f.used[0] = 60 * kMi;
  f.wall += seconds(10);
  f.Look();
  EXPECT_EQ(f.Condition("PodResizeInProgress"), first) << "the status comes to rest though the use changes";
  EXPECT_EQ(f.InForce()["limits"]["memory"], "128Mi") << "the figures before hold";
  f.used[0] = 20 * kMi;
  EXPECT_EQ(f.Look(), "main memory ");
  EXPECT_EQ(f.Conditions(), "");
}

TEST(PodResizeTest, AControlGroupThatRefusesIsAnError) {
  Fixture f;
  f.Ask(Figures("300m", "128Mi"));
  EXPECT_EQ(f.Look("cannot write it; run attune as root"), "main cpu ");
  EXPECT_EQ(f.Condition("PodResizeInProgress")["reason"], "Error");
  EXPECT_EQ(f.Condition("PodResizeInProgress")["message"], "container main: cannot write it; run attune as root");
  EXPECT_EQ(f.Condition("PodResizeInProgress")["observedGeneration"], 2);
  EXPECT_EQ(f.InForce()["limits"]["cpu"], "200m");
  EXPECT_EQ(f.Look(), "main cpu ") << "tried again";
  EXPECT_EQ(f.Conditions(), "");
  EXPECT_EQ(f.InForce()["limits"]["cpu"], "300m");
}

TEST(PodResizeTest, OneContainersTroubleKeepsAllLimitsOfMemoryAndCpu) {
  Fixture f;
  f.object["spec"]["containers"].push_back(f.object["spec"]["containers"][0]);
  f.object["spec"]["containers"][1]["name"] = "other";
  f.Begin();
  f.Ask(Figures("200m", "32Mi"), 0);
  f.Ask(Figures("300m", "128Mi"), 1);
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Conditions(), "PodResizeInProgress/Error ");
  EXPECT_EQ(f.InForce(1)["limits"]["cpu"], "200m");
}

TEST(PodResizeTest, AContainerThatDoesNotRunStartsWithWhatWasAccepted) {
  Fixture f;
  f.running[0] = false;
  f.Ask(Figures("300m", "32Mi"));
  EXPECT_EQ(f.Look(), "");
  EXPECT_EQ(f.Conditions(), "") << "nothing is in use, and nothing has to be changed";
  OnContainerChange(f.record.resources, 0);
  f.running[0] = true;
  EXPECT_EQ(f.Look(), "nothing");
  EXPECT_EQ(f.InForce(), Figures("300m", "32Mi"));
  f.Ask(Figures("9", "32Mi"));
  f.Look();
  OnContainerChange(f.record.resources, 0);
  EXPECT_EQ(f.InForce(), Figures("300m", "32Mi")) << "never with what is infeasible";
  EXPECT_EQ(f.Conditions(), "PodResizePending/Infeasible ");
}

TEST(PodResizeTest, SidecarsAreResizedAndCountInitContainersAreNot) {
  Fixture f;
  f.object["spec"]["initContainers"] = {
      {{"name", "side"}, {"restartPolicy", "Always"}, {"resources", Figures("100m", "64Mi")}},
      {{"name", "first"}, {"resources", Figures("1", "64Mi")}}};
  f.Begin();
  EXPECT_DOUBLE_EQ(PodRequest(f.record.specs, f.record.resources.accepted, "cpu"), 1.1)
      << "the init container beside the sidecar before it";
  f.running[1] = false;
  f.object["spec"]["initContainers"][0]["resources"] = Figures("300m", "64Mi");
  f.object["spec"]["initContainers"][1]["resources"] = Figures("900m", "64Mi");
  EXPECT_EQ(f.Look(), "side cpu ");
  EXPECT_EQ(f.Conditions(), "");
  EXPECT_EQ(f.Look(), "nothing");
}

TEST(PodResizeTest, APolicyThatAsksForARestartIsRefused) {
  Fixture f;
  f.object["spec"]["containers"][0]["resizePolicy"] =
      Json::array({{{"resourceName", "memory"}, {"restartPolicy", "RestartContainer"}}});
  f.Ask(Figures("300m", "128Mi"));
  EXPECT_EQ(f.Look(), "main cpu ") << "the policy is of memory";
  f.Ask(Figures("300m", "256Mi"));
  EXPECT_EQ(f.Look(), "");
  EXPECT_THAT(f.Condition("PodResizeInProgress")["message"].get<std::string>(), HasSubstr("set NotRequired"));
}

TEST(PodResizeTest, AnEndedPodHasNoConditionsOfResizing) {
  Fixture f;
  f.Ask(Figures("9", "128Mi"));
  f.Look();
  OnStarted(f.record, 0, {}, {});
  EXPECT_EQ(f.Conditions(), "PodResizePending/Infeasible ");
  f.record.specs[0].restart = RestartPolicy::kNever;
  OnExit(f.record, 0, 0, {}, {});
  EXPECT_EQ(f.Conditions(), "");
}

TEST(PodResizeTest, WithoutFiguresTheStatusSaysSo) {
  Fixture f(Json::object());
  EXPECT_EQ(f.InForce(), Json::object());
  EXPECT_FALSE(f.Status()["containerStatuses"][0].contains("allocatedResources"));
  EXPECT_EQ(f.Look(), "nothing");
}

}  // namespace
}  // namespace attune::local::pod_resize_test
