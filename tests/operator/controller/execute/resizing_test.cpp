// Resizes as the API server meets them: the calls that are made, and clusters that cannot or do not let the operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "operator/controller/observe/timestamp.h"
#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller::resizing_test {
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

constexpr int64_t kMebibyte = 1LL << 20;

// Two workers with 512Mi each, of which the spec allows eight times as much.
void BringUpWithMemory(ExecutorRig& rig, const Json& tuning = Json::object()) {
  const Json memory = {{"target", "512Mi"}, {"max", "4Gi"}};
  const Json patch = {{"spec", {{"workers", {{"resources", {{"memory", memory}}}}}, {"tuning", tuning}}}};
  ASSERT_TRUE(rig.real.Patch(kube::kTrainingJobs, {"default", "j"}, kube::PatchType::kMerge, patch).ok());
  rig.BringUp();
  rig.api.ForgetCalls();
}

void KillForMemory(ExecutorRig& rig, const std::string& pod) {
  rig.Exit(pod, 137);
  const Json end = {{"exitCode", 137}, {"reason", "OOMKilled"}, {"finishedAt", ToRfc3339(rig.clock.WallNow())}};
  const Json status = {{"containerStatuses", Json::array({{{"name", "worker"}, {"state", {{"terminated", end}}}}})}};
  ASSERT_TRUE(
      rig.real.Patch(kube::kPods, {"default", pod}, kube::PatchType::kMerge, {{"status", status}}, "status").ok());
}

std::optional<int64_t> TargetOf(ExecutorRig& rig) {
  return api::ParseTrainingJob(rig.Job()).job.spec.workers.resources.memory.target;
}

// Every worker 0 that is made after the first has what the kill of that one asks for. Runs this long.
void WatchSuccessors(ExecutorRig& rig, const std::string& first_uid, int for_seconds, const std::string& story) {
  for (int i = 0; i < for_seconds; ++i) {
    rig.Run(seconds(1));
    rig.StartAll();
    const auto pod = rig.Pod("j-worker-0");
    if (!pod || kube::Uid(*pod) == first_uid) continue;
    ASSERT_GE(Asked(rig, "j-worker-0").memory.limit.value_or(0), 768 * kMebibyte) << story << ", after " << i << " s";
  }
}

TEST(MemoryRaise, WhicheverCallIsRefusedTheSuccessorIsNotMadeAtTheOldSize) {
  struct Case {
    const char* name;
    std::function<bool(const ApiCall&)> refused;
  };
  const auto of_pods = [](const char* verb) {
    return [verb](const ApiCall& call) { return call.verb == verb && call.kind == "Pod"; };
  };
  const Case cases[] = {
      {"the change of the spec",
       [](const ApiCall& call) {
         return call.verb == "patch" && call.kind == "TrainingJob" && call.subresource.empty();
       }},
      {"every write to the job", [](const ApiCall& call) { return call.kind == "TrainingJob" && call.verb != "get"; }},
      {"the status", [](const ApiCall& call) { return call.subresource == "status"; }},
      {"marks and releases of pods", of_pods("patch")},
      {"deletions of pods", of_pods("delete")},
      {"creations of pods", of_pods("create")},
      {"resizes", [](const ApiCall& call) { return call.subresource == "resize"; }},
      {"everything", [](const ApiCall& call) { return call.verb != "get" && call.verb != "list"; }},
  };
  for (const Status& status : {Error(StatusCode::kUnavailable, "the server is away"),
                               Error(StatusCode::kPermissionDenied, "denied by a policy")}) {
    for (const Case& c : cases) {
      ExecutorRig rig(1, 2);
      BringUpWithMemory(rig);
      const std::string first(kube::Uid(*rig.Pod("j-worker-0")));
      rig.api.SetJudge([&](const ApiCall& call) {
        return c.refused(call) ? std::optional<Fault>({.status = status}) : std::nullopt;
      });
      KillForMemory(rig, "j-worker-0");
      WatchSuccessors(rig, first, 90, c.name);
      rig.api.SetJudge({});
      WatchSuccessors(rig, first, 90, c.name);
      EXPECT_NE(kube::Uid(*rig.Pod("j-worker-0")), first) << c.name;
      EXPECT_EQ(TargetOf(rig), 768 * kMebibyte) << c.name << ": once, when it can be written";
      EXPECT_EQ(Asked(rig, "j-worker-0").memory.limit, 768 * kMebibyte) << c.name;
    }
  }
}

TEST(MemoryRaise, ARefusedChangeIsSaidAndTheDeadPodIsNotKeptForEver) {
  ExecutorRig rig(1, 2);
  BringUpWithMemory(rig);
  const std::string first(kube::Uid(*rig.Pod("j-worker-0")));
  rig.api.SetJudge([](const ApiCall& call) {
    const bool is_spec = call.verb == "patch" && call.kind == "TrainingJob" && call.subresource.empty();
    return is_spec ? std::optional<Fault>({.status = Error(StatusCode::kPermissionDenied, "denied by a policy")})
                   : std::nullopt;
  });
  KillForMemory(rig, "j-worker-0");
  rig.Run(seconds(20));
  EXPECT_EQ(kube::Uid(*rig.Pod("j-worker-0")), first) << "only it says how much it had";
  EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith("True/"));
  WatchSuccessors(rig, first, 40, "refused for long");
  EXPECT_NE(kube::Uid(*rig.Pod("j-worker-0")), first);
  EXPECT_EQ(TargetOf(rig), 512 * kMebibyte);
}

TEST(MemoryRaise, AnOperatorThatDiesAtAnyCallAfterAKillIsContinued) {
  for (const bool carried_out : {false, true}) {
    for (int at = 0; at < 12; ++at) {
      ExecutorRig rig(1, 2);
      BringUpWithMemory(rig);
      const std::string first(kube::Uid(*rig.Pod("j-worker-0")));
      int calls = 0;
      rig.api.SetJudge([&](const ApiCall& call) {
        const bool is_act = call.verb != "get" && call.verb != "list" && call.verb != "log";
        return is_act && calls++ == at ? std::optional<Fault>({.carried_out = carried_out, .operator_dies = true})
                                       : std::nullopt;
      });
      KillForMemory(rig, "j-worker-0");
      const std::string story = "died at call " + std::to_string(at) + (carried_out ? ", after it" : ", before it");
      WatchSuccessors(rig, first, 60, story);
      EXPECT_EQ(TargetOf(rig), 768 * kMebibyte) << story;
      EXPECT_EQ(Asked(rig, "j-worker-0").memory.limit, 768 * kMebibyte) << story;
    }
  }
}

// A machine that gives what is asked for, and a worker that uses this much.
void Use(ExecutorRig& rig, const std::string& pod, int64_t bytes) {
  const int64_t limit = Asked(rig, pod).memory.limit.value_or(0);
  ASSERT_LT(bytes, limit) << "it is killed";
  rig.Start(pod);
  for (telemetry::PodSample& sample : rig.store.sample.pods) {
    if (sample.pod != pod) continue;
    sample.usage.set_memory_bytes(static_cast<uint64_t>(bytes));
    sample.usage.set_memory_limit_bytes(static_cast<uint64_t>(limit));
  }
}

TEST(MemoryRaise, WhatGrowsIsRaisedBeforeItIsKilledWhereverTheOperatorDies) {
  // Once without a death; then at each call of the raise.
  for (int at = -1; at < 10; ++at) {
    ExecutorRig rig(1, 2);
    BringUpWithMemory(rig, {{"mode", "InPlaceOnly"}, {"windowSeconds", 2}});
    const std::string first(kube::Uid(*rig.Pod("j-worker-0")));
    int calls = 0;
    rig.api.SetJudge([&](const ApiCall& call) {
      // From the change of the spec on.
      const bool is_raise = call.verb == "patch" && call.kind == "TrainingJob" && call.subresource.empty();
      const bool is_act = call.verb != "get" && call.verb != "list" && (calls > 0 || is_raise);
      return is_act && calls++ == at ? std::optional<Fault>({.carried_out = at % 2 == 1, .operator_dies = true})
                                     : std::nullopt;
    });
    for (int second = 0; second < 200; ++second) {
      Use(rig, "j-worker-0", std::min(300 + 2 * second, 560) * kMebibyte);
      Use(rig, "j-worker-1", 200 * kMebibyte);
      if (testing::Test::HasFatalFailure()) FAIL() << "died at " << at << ", second " << second;
      rig.Run(seconds(1));
    }
    EXPECT_EQ(TargetOf(rig), 768 * kMebibyte) << "once, since it is enough; died at " << at;
    EXPECT_EQ(kube::Uid(*rig.Pod("j-worker-0")), first) << "nothing was restarted";
    EXPECT_EQ(Asked(rig, "j-worker-1").memory.limit, 768 * kMebibyte) << "all pods of a role have the same";
    EXPECT_EQ(std::ranges::count(rig.EventReasons(), "MemoryRaised"), 1) << at;
  }
}

}  // namespace
}  // namespace attune::controller::resizing_test
