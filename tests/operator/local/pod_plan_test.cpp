#include "operator/local/pods/pod_plan.h"

#include <gmock/gmock.h>

#include "operator/local/pods/pod_status.h"
#include "tests/operator/local/objects.h"

namespace attune::local::pod_plan_test {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Json;
using testing::MakePod;
using Kind = ContainerAction::Kind;
using State = ContainerRecord::State;

// A pod in words: "sidecar", "init" and "main" containers in this order, each named after its kind and number.
struct Fixture {
  explicit Fixture(const std::vector<std::string>& kinds, const std::string& policy = "Never") {
    object = MakePod("a");
    object["spec"]["restartPolicy"] = policy;
    object["spec"]["containers"] = Json::array();
    for (const std::string& kind : kinds) {
      Json container{{"name", kind}};
      if (kind.starts_with("sidecar")) container["restartPolicy"] = "Always";
      object["spec"][kind.starts_with("main") ? "containers" : "initContainers"].push_back(container);
    }
    pod.specs = ContainersOf(object);
    pod.containers.resize(pod.specs.size());
    pod.resources = ResourcesOf(object, pod.specs.size());
  }
  // What the plan says, in words: "start main". Does it, too.
  std::vector<std::string> Step() {
    std::vector<std::string> words;
    for (const ContainerAction& action : PlanPod(pod, now).actions) {
      const std::string& name = pod.specs[action.container].name;
      ContainerRecord& record = pod.containers[action.container];
      switch (action.kind) {
        case Kind::kStart:
          OnStarted(pod, action.container, now, {});
          words.push_back("start " + name);
          break;
        case Kind::kTerminate:
          record.term_sent = true;
          record.term_sent_at = now;
          words.push_back("terminate " + name);
          break;
        case Kind::kKill:
          record.kill_sent = true;
          words.push_back("kill " + name);
          break;
      }
    }
    return words;
  }
  void Exit(const std::string& name, int code) {
    for (size_t i = 0; i < pod.specs.size(); ++i) {
      if (pod.specs[i].name == name) OnExit(pod, i, code, now, {});
    }
  }
  bool Finished() const { return PlanPod(pod, now).finished; }
  std::string Phase() const { return PhaseOf(pod); }
  void Delete(seconds grace) {
    pod.deleting = true;
    pod.delete_deadline = now + grace;
  }

  Json object;
  PodRecord pod;
  MonotonicTime now{seconds(1000)};
};

TEST(PodPlanTest, SidecarsAndInitContainersComeFirstInOrder) {
  Fixture f({"sidecar", "init", "main1", "main2"});
  EXPECT_EQ(f.Phase(), "Pending");
  EXPECT_THAT(f.Step(), ElementsAre("start sidecar"));
  EXPECT_THAT(f.Step(), ElementsAre("start init")) << "an init container follows a started sidecar";
  EXPECT_THAT(f.Step(), IsEmpty());
  f.Exit("init", 0);
  EXPECT_THAT(f.Step(), ElementsAre("start main1", "start main2"));
}

TEST(PodPlanTest, MainContainersWaitForInitContainers) {
  Fixture f({"init", "main"});
  EXPECT_THAT(f.Step(), ElementsAre("start init"));
  EXPECT_THAT(f.Step(), IsEmpty());
  f.Exit("init", 0);
  EXPECT_THAT(f.Step(), ElementsAre("start main"));
  EXPECT_EQ(f.Phase(), "Running");
}

TEST(PodPlanTest, AFailedInitContainerFailsThePod) {
  Fixture f({"init", "main"});
  f.Step();
  f.Exit("init", 3);
  EXPECT_THAT(f.Step(), IsEmpty());
  EXPECT_TRUE(f.Finished());
  EXPECT_EQ(f.Phase(), "Failed");
}

TEST(PodPlanTest, ASidecarEndsAfterTheOthersAndDecidesNothing) {
  Fixture f({"sidecar", "main"});
  f.Step();
  f.Step();
  f.Exit("main", 0);
  EXPECT_THAT(f.Step(), ElementsAre("terminate sidecar"));
  EXPECT_EQ(f.Phase(), "Running") << "until the sidecar has ended";
  f.now += kSidecarGrace;
  EXPECT_THAT(f.Step(), ElementsAre("kill sidecar"));
  f.Exit("sidecar", 137);
  EXPECT_TRUE(f.Finished());
  EXPECT_EQ(f.Phase(), "Succeeded");
}

TEST(PodPlanTest, ADeadSidecarIsRestartedWithBackoff) {
  Fixture f({"sidecar", "main"});
  f.Step();
  f.Step();
  for (const int wait : {1, 2, 4}) {
    f.Exit("sidecar", 1);
    EXPECT_THAT(f.Step(), IsEmpty());
    EXPECT_EQ(PlanPod(f.pod, f.now).next_look, f.now + seconds(wait));
    f.now += seconds(wait);
    EXPECT_THAT(f.Step(), ElementsAre("start sidecar"));
  }
  EXPECT_EQ(f.pod.containers[0].restarts, 3);
  EXPECT_EQ(f.Phase(), "Running");
}

TEST(PodPlanTest, RestartPolicies) {
  struct Case {
    std::string policy;
    int code;
    bool want_restart;
    std::string want_phase;
  };
  for (const Case& test : std::vector<Case>{{"Never", 0, false, "Succeeded"},
                                            {"Never", 1, false, "Failed"},
                                            {"OnFailure", 0, false, "Succeeded"},
                                            {"OnFailure", 1, true, "Running"},
                                            {"Always", 0, true, "Running"}}) {
    Fixture f({"main"}, test.policy);
    f.Step();
    f.Exit("main", test.code);
    EXPECT_EQ(f.pod.containers[0].state == State::kWaiting, test.want_restart) << test.policy << test.code;
    EXPECT_EQ(f.Phase(), test.want_phase) << test.policy << test.code;
  }
}

TEST(PodPlanTest, DeletionTerminatesMainsThenSidecarsThenFinishes) {
  Fixture f({"sidecar", "main"}, "Always");
  f.Step();
  f.Step();
  f.Delete(seconds(30));
  EXPECT_THAT(f.Step(), ElementsAre("terminate main"));
  EXPECT_THAT(f.Step(), IsEmpty()) << "TERM is sent once";
  f.now += seconds(30);
  EXPECT_THAT(f.Step(), ElementsAre("kill main"));
  f.Exit("main", 137);
  EXPECT_THAT(f.Step(), ElementsAre("terminate sidecar"));
  f.now += seconds(1);
  EXPECT_THAT(f.Step(), ElementsAre("kill sidecar")) << "the grace period is over";
  f.Exit("sidecar", 137);
  EXPECT_THAT(f.Step(), IsEmpty());
  EXPECT_TRUE(f.Finished());
  EXPECT_EQ(f.Phase(), "Failed");
}

TEST(PodPlanTest, WhenThePlatformEndsSidecarsGetNoTimeOfTheirOwnBeyondItsDeadline) {
  Fixture f({"sidecar", "main"}, "Always");
  f.Step();
  f.Step();
  f.Delete(seconds(1));
  f.pod.end_by = f.now + seconds(1);
  EXPECT_THAT(f.Step(), ElementsAre("terminate main"));
  f.Exit("main", 0);
  EXPECT_THAT(f.Step(), ElementsAre("terminate sidecar"));
  EXPECT_EQ(PlanPod(f.pod, f.now).next_look, f.now + seconds(1));
  f.now += seconds(1);
  EXPECT_THAT(f.Step(), ElementsAre("kill sidecar"));
}

TEST(PodPlanTest, AVanishedObjectKillsAtOnce) {
  Fixture f({"sidecar", "main"});
  f.Step();
  f.Step();
  f.pod.force = true;
  EXPECT_THAT(f.Step(), ElementsAre("kill sidecar", "kill main"));
}

TEST(PodPlanTest, AContainerThatCannotStartIsTriedAgainWhereThatMayHelp) {
  Fixture f({"main"});
  for (int i = 1; i <= kStartsMax; ++i) {
    OnStartFailed(f.pod, 0, Error(StatusCode::kUnavailable, "no space"), f.now, {});
    EXPECT_THAT(f.Step(), IsEmpty()) << "not at once";
    const Json status = StatusOf(f.pod, f.object, {});
    EXPECT_EQ(status["phase"], "Pending");
    EXPECT_EQ(status["containerStatuses"][0]["state"]["waiting"]["reason"], "CreateContainerError");
    EXPECT_EQ(status["containerStatuses"][0]["state"]["waiting"]["message"], "no space");
    f.now = PlanPod(f.pod, f.now).next_look;
  }
  EXPECT_LE(f.now, MonotonicTime(seconds(1020))) << "some seconds in all";
  OnStartFailed(f.pod, 0, Error(StatusCode::kUnavailable, "no space"), f.now, {});
  EXPECT_EQ(f.Phase(), "Failed");
  const Json ended = StatusOf(f.pod, f.object, {})["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["reason"], "StartError");
  EXPECT_EQ(ended["message"], "no space");
}

TEST(PodPlanTest, AStartThatCanNeverSucceedFailsAtOnceWithTheWholeReason) {
  Fixture f({"main"});
  const std::string reason = "there is no program /opt/w; " + std::string(300, 'x');
  OnStartFailed(f.pod, 0, Error(StatusCode::kNotFound, reason), f.now, {});
  EXPECT_EQ(f.Phase(), "Failed");
  EXPECT_TRUE(f.Finished());
  const Json ended = StatusOf(f.pod, f.object, {})["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"], 128);
  EXPECT_EQ(ended["message"], reason);
}

TEST(PodPlanTest, AContainerThatWaitsForAnObjectWaitsAsLongAsItTakes) {
  Fixture f({"main"});
  for (int i = 0; i < 100; ++i) {
    OnStartFailed(f.pod, 0, Error(StatusCode::kFailedPrecondition, "Secret s is not there yet"), f.now, {});
    f.now = PlanPod(f.pod, f.now).next_look;
  }
  EXPECT_EQ(f.Phase(), "Pending");
  EXPECT_THAT(f.Step(), ElementsAre("start main"));
}

TEST(PodPlanTest, ASidecarThatCannotStartFailsThePodUnlessItRanBefore) {
  Fixture f({"sidecar", "main"});
  OnStartFailed(f.pod, 0, Error(StatusCode::kNotFound, "program \"attune-sidecar\" not found"), f.now, {});
  EXPECT_EQ(f.Phase(), "Failed");
  EXPECT_TRUE(f.Finished());
  const Json status = StatusOf(f.pod, f.object, {});
  const Json& ended = status["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["reason"], "StartError");
  EXPECT_EQ(ended["message"], "container sidecar: program \"attune-sidecar\" not found");

  Fixture ran({"sidecar", "main"});
  ran.Step();
  ran.Step();
  ran.Exit("sidecar", 1);
  OnStartFailed(ran.pod, 0, Error(StatusCode::kNotFound, "gone"), ran.now, {});
  EXPECT_EQ(ran.Phase(), "Running");
}

TEST(PodPlanTest, ReadinessFollowsTheProbesThresholds) {
  Fixture f({"main"});
  f.object["spec"]["containers"][0]["readinessProbe"] = {{"tcpSocket", {{"port", 7401}}}, {"failureThreshold", 2}};
  f.pod.specs = ContainersOf(f.object);
  EXPECT_EQ(f.pod.specs[0].readiness->port, 7401);
  f.Step();
  const auto ready = [&] { return StatusOf(f.pod, f.object, {})["containerStatuses"][0]["ready"].get<bool>(); };
  EXPECT_FALSE(ready());
  OnProbe(f.pod, 0, true);
  EXPECT_TRUE(ready());
  OnProbe(f.pod, 0, false);
  EXPECT_TRUE(ready()) << "one failure is below the threshold";
  OnProbe(f.pod, 0, false);
  EXPECT_FALSE(ready());
}

TEST(PodPlanTest, StatusTellsTheLastRun) {
  Fixture f({"main"}, "Always");
  f.Step();
  f.Exit("main", 3);
  const Json status = StatusOf(f.pod, f.object, {})["containerStatuses"][0];
  EXPECT_EQ(status["restartCount"], 1);
  EXPECT_EQ(status["lastState"]["terminated"]["exitCode"], 3);
  EXPECT_EQ(status["state"]["waiting"]["reason"], "CrashLoopBackOff");
}

}  // namespace
}  // namespace attune::local::pod_plan_test
