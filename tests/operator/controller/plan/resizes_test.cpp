// Pods that run are brought to the figures of the spec, and what became of it is reported. As stories over FakeCluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "operator/controller/objects/pods.h"
#include "operator/controller/plan/resizes.h"
#include "tests/operator/controller/notes.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::resizes_test {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr int64_t kMebibyte = 1LL << 20;

// Workers with a limit of 1 core and 512 MiB, and a request below it.
FakeCluster Limited(int32_t workers = 2, JobBuilder job = MakeTrainingJob("a").Servers(1)) {
  Json container = {
      {"name", "worker"},
      {"image", "example"},
      {"resources",
       {{"requests", {{"cpu", "500m"}, {"memory", "512Mi"}}}, {"limits", {{"cpu", "1"}, {"memory", "512Mi"}}}}}};
  FakeCluster cluster =
      Running(job.Workers(workers).WorkerTemplate({{"spec", {{"containers", Json::array({container})}}}}));
  for (const std::string& name : cluster.PodNames()) cluster.GiveResources(name);
  cluster.Settle();
  return cluster;
}

api::RoleResources& Workers(FakeCluster& cluster) {
  ++cluster.job().generation;
  return cluster.job().spec.workers.resources;
}

void Use(FakeCluster& cluster, const std::string& pod, uint64_t bytes) {
  for (telemetry::PodSample& sample : cluster.sample.pods) {
    if (sample.pod == pod) sample.usage.set_memory_bytes(bytes);
  }
}

Json Asked(FakeCluster& cluster, const std::string& pod) {
  for (const Json& container : cluster.pod(pod)["spec"]["containers"]) {
    if (container["name"] == kube::Label(cluster.pod(pod), "attune.dev/role")) return container["resources"];
  }
  return {};
}

size_t Resizes(const std::vector<std::string>& done) {
  return static_cast<size_t>(
      std::ranges::count_if(done, [](const std::string& act) { return act.starts_with("ResizePod "); }));
}

TEST(Resizes, AllPodsOfARoleFollowTheTarget) {
  FakeCluster cluster = Limited();
  Workers(cluster).cpu.target = 2000;
  const auto done = cluster.Settle();
  EXPECT_EQ(Resizes(done), 2U);
  EXPECT_THAT(done, testing::Contains("ResizePod a-worker-0 (cpu 2 is wanted)"));
  EXPECT_EQ(Asked(cluster, "a-worker-1"), Json::parse(R"({"requests": {"cpu": "500m", "memory": "512Mi"},
                                                          "limits": {"cpu": "2", "memory": "512Mi"}})"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("True/ResizingPods: a-worker-0, a-worker-1: being resized to cpu 2"));
  EXPECT_THAT(cluster.Reconcile(), IsEmpty()) << "asked once";
  cluster.GiveResources("a-worker-0");
  cluster.Settle();
  EXPECT_THAT(Notes(cluster, "PodResized"), ElementsAre("a-worker-0: cpu 1 -> 2"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/ResizingPods: a-worker-1: being"));
  cluster.GiveResources("a-worker-1");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
  cluster.RestartOperator();
  EXPECT_EQ(Resizes(cluster.Settle()), 0U);
  EXPECT_THAT(Notes(cluster, "PodResized"), ElementsAre("a-worker-0: cpu 1 -> 2", "a-worker-1: cpu 1 -> 2"));
}

TEST(Resizes, ATargetThatChangesOnTheWayIsOneStoryFromTheFirstFigures) {
  FakeCluster cluster = Limited(1);
  Workers(cluster).cpu.target = 2000;
  cluster.Settle();
  Workers(cluster).cpu.target = 3000;
  Workers(cluster).memory.target = 1024 * kMebibyte;
  cluster.Settle();
  cluster.GiveResources("a-worker-0");
  cluster.Settle();
  EXPECT_THAT(Notes(cluster, "PodResized"), ElementsAre("a-worker-0: cpu 1 -> 3, memory 512Mi -> 1Gi"));
  Workers(cluster).cpu.target.reset();
  cluster.Settle();
  cluster.GiveResources("a-worker-0");
  cluster.Settle();
  EXPECT_THAT(Notes(cluster, "PodResized").back(), "a-worker-0: cpu 3 -> 1") << "back to the template";
  EXPECT_EQ(Asked(cluster, "a-worker-0")["limits"], Json::parse(R"({"cpu": "1", "memory": "1Gi"})"));
}

TEST(Resizes, WhatTheKubeletSaysIsToldOnceAndNotAskedForAgain) {
  FakeCluster cluster = Limited(1);
  Workers(cluster).cpu.target = 8000;
  cluster.Settle();
  cluster.SayOfResize("a-worker-0", "PodResizePending", "Deferred", "Node didn't have enough resource: cpu");
  EXPECT_EQ(Resizes(cluster.Settle()), 0U);
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ResizeDeferred: a-worker-0: the machine has no room for cpu 8 now: Node didn't"));
  cluster.RestartOperator();
  EXPECT_EQ(Resizes(cluster.Settle()), 0U);
  EXPECT_EQ(Notes(cluster, "ResizeDeferred").size(), 1U);
  cluster.GiveResources("a-worker-0");
  cluster.Settle();
  EXPECT_THAT(Notes(cluster, "PodResized"), ElementsAre("a-worker-0: cpu 1 -> 8"));

  Workers(cluster).cpu.target = 64000;
  cluster.Settle();
  cluster.SayOfResize("a-worker-0", "PodResizePending", "Infeasible", "Node didn't have enough capacity");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ResizeInfeasible: a-worker-0: cpu 64 does not fit on its machine: Node didn't"));
  EXPECT_THAT(cluster.Reconcile(), IsEmpty());
  EXPECT_EQ(Notes(cluster, "ResizeInfeasible").size(), 1U);
  Workers(cluster).cpu.target = 4000;
  EXPECT_EQ(Resizes(cluster.Settle()), 1U) << "another size is asked for";
}

TEST(Resizes, AnErrorOfTheMachineIsShownWhileItTriesAgain) {
  FakeCluster cluster = Limited(1);
  Workers(cluster).cpu.target = 2000;
  cluster.Settle();
  cluster.SayOfResize("a-worker-0", "PodResizeInProgress", "Error", "cgroup is not writable");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("True/ResizingPods: a-worker-0: the resize to cpu 2 has not succeeded so far: cgroup"));
}

TEST(Resizes, MemoryBelowWhatIsUsedIsNotAskedFor) {
  FakeCluster cluster = Limited(1);
  Workers(cluster).memory.target = 256 * kMebibyte;
  EXPECT_EQ(Resizes(cluster.Settle()), 0U) << "its use is not known";
  cluster.Settle();
  EXPECT_EQ(Notes(cluster, "ResizeRefused").size(), 1U);
  Use(cluster, "a-worker-0", static_cast<uint64_t>(240 * kMebibyte));
  Workers(cluster).cpu.target = 2000;
  EXPECT_EQ(Resizes(cluster.Settle()), 1U) << "cpu does not wait for memory";
  EXPECT_EQ(Asked(cluster, "a-worker-0")["limits"]["memory"], "512Mi");
  cluster.GiveResources("a-worker-0");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ResizeRefused: a-worker-0: memory 256Mi is less than what its process uses"));
  Use(cluster, "a-worker-0", static_cast<uint64_t>(200 * kMebibyte));
  EXPECT_EQ(Resizes(cluster.Settle()), 1U);
  EXPECT_EQ(Asked(cluster, "a-worker-0")["limits"]["memory"], "256Mi");
}

TEST(Resizes, MoreMemoryIsAskedForWhateverIsUsed) {
  FakeCluster cluster = Limited(1);
  Use(cluster, "a-worker-0", static_cast<uint64_t>(2000 * kMebibyte));
  Workers(cluster).memory.target = 1024 * kMebibyte;
  EXPECT_EQ(Resizes(cluster.Settle()), 1U);
}

TEST(Resizes, PodsOnTheirWayOutAndJobsThatEndAreLeftAlone) {
  FakeCluster cluster = Limited(3);
  cluster.DeleteFromOutside("a-worker-0");
  cluster.job().spec.workers.replicas = 2;
  Workers(cluster).cpu.target = 2000;
  EXPECT_EQ(Resizes(cluster.Reconcile()), 1U) << "one is deleted, one leaves";

  FakeCluster ending = Limited(1);
  ending.ReachGoal("evaluate");
  Workers(ending).cpu.target = 2000;
  EXPECT_EQ(Resizes(ending.Settle()), 0U);
}

TEST(Resizes, AContainerWithoutFiguresKeepsNoneAndItsSuccessorHasThem) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Workers(cluster).cpu.target = 2000;
  EXPECT_EQ(Resizes(cluster.Settle()), 0U);
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ResizeNotSupported: a-worker-0: its container was made without figures of cpu"));
  cluster.DeleteFromOutside("a-worker-0", 0);
  cluster.Settle();
  cluster.StartAll();
  EXPECT_EQ(Asked(cluster, "a-worker-0"), Json::parse(R"({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}})"));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(Resizes, AServerThatOnlyRequestsStaysUnlimited) {
  FakeCluster cluster = Limited(1);
  ++cluster.job().generation;
  cluster.job().spec.servers.resources.memory.target = 1024 * kMebibyte;
  cluster.Settle();
  EXPECT_EQ(Asked(cluster, "a-server-0"), Json::parse(R"({"requests": {"cpu": "100m", "memory": "1Gi"}})"));
}

TEST(Resizes, AClusterThatCannotIsAskedForOnePodAndHoldsNothingUp) {
  for (const char* reason : {kReasonResizeNotSupported, kReasonForbidden}) {
    FakeCluster cluster = Limited();
    cluster.blocked = {{"ResizePod a-worker-1", reason, "resizing pod default/a-worker-1: cannot: update the cluster"}};
    Workers(cluster).cpu.target = 2000;
    cluster.job().spec.workers.replicas = 3;
    EXPECT_THAT(cluster.Reconcile(),
                testing::AllOf(testing::Contains(StartsWith("ResizePod a-worker-1")),
                               testing::Contains(StartsWith("CreatePod a-worker-2")),
                               testing::Not(testing::Contains(StartsWith("ResizePod a-worker-0")))));
    EXPECT_THAT(
        cluster.Condition(api::kReconfiguring),
        StartsWith("False/ResizeNotSupported: resizing pod default/a-worker-1: cannot: update the cluster. Pods "
                   "that are made from now on have"));
  }
}

TEST(Resizes, ASizeThatTheApiServerRefusesIsReportedPerPod) {
  FakeCluster cluster = Limited(1);
  cluster.blocked = {{"ResizePod a-worker-0", kReasonQuota, "resizing pod default/a-worker-0: exceeded quota"}};
  Workers(cluster).cpu.target = 2000;
  EXPECT_EQ(Resizes(cluster.Reconcile()), 1U) << "it is tried again";
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ResizeRefused: a-worker-0: resizing pod default/a-worker-0: exceeded quota"));
}

TEST(Resizes, AnOperatorThatDiesAtAnyPointIsContinued) {
  for (size_t acts = 0; acts < 8; ++acts) {
    FakeCluster cluster = Limited(2);
    Workers(cluster).cpu.target = 2000;
    cluster.Reconcile(acts);
    cluster.RestartOperator();
    cluster.Settle();
    cluster.GiveResources("a-worker-0");
    cluster.GiveResources("a-worker-1");
    cluster.Reconcile(acts);
    cluster.RestartOperator();
    cluster.Settle();
    for (const char* pod : {"a-worker-0", "a-worker-1"}) {
      EXPECT_EQ(Asked(cluster, pod)["limits"]["cpu"], "2") << acts;
      EXPECT_TRUE(ObservePod(cluster.pod(pod)).resize.record.done) << acts;
    }
    EXPECT_LE(Notes(cluster, "PodResized").size(), 2U) << acts;
    EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled")) << acts;
  }
}

void RunOutOfMemory(FakeCluster& cluster, const std::string& pod) {
  cluster.Exit(pod, 137);
  cluster.pod(pod)["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] = "OOMKilled";
}

// Its successor runs.
void Succeed(FakeCluster& cluster) {
  cluster.Settle();
  cluster.Advance(std::chrono::minutes(3));
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
}

TEST(MemoryRaise, ASuccessorNeverHasTheSameAgainUntilTheBound) {
  FakeCluster cluster = Limited(2, MakeTrainingJob("a").Servers(1).BackoffLimit(3));
  Workers(cluster).memory.max = 1000 * kMebibyte;
  cluster.Settle();
  for (const auto& [before, after] : {std::pair("512Mi", "768Mi"), std::pair("768Mi", "1000Mi")}) {
    RunOutOfMemory(cluster, "a-worker-0");
    Succeed(cluster);
    EXPECT_EQ(Asked(cluster, "a-worker-0")["limits"]["memory"], after);
    EXPECT_THAT(Notes(cluster, "MemoryRaised").back(),
                "a-worker-0 ran out of memory with a limit of " + std::string(before) + "; workers have " + after +
                    " from now on (spec.workers.resources.memory.target, at most 1000Mi)");
    EXPECT_EQ(Asked(cluster, "a-worker-1")["limits"]["memory"], after) << "the others grow where they are";
  }
  EXPECT_EQ(Notes(cluster, "MemoryRaised").size(), 2U);
  RunOutOfMemory(cluster, "a-worker-0");
  Succeed(cluster);
  EXPECT_EQ(Notes(cluster, "MemoryRaised").size(), 2U) << "not above the bound";
  EXPECT_THAT(Notes(cluster, "WorkerFailed").back(),
              HasSubstr("it had all that spec.workers.resources.memory.max allows (1000Mi): raise that"));
  RunOutOfMemory(cluster, "a-worker-0");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("raise that"));
}

TEST(MemoryRaise, PodsKilledTogetherRaiseOnceAlsoForAnotherOperator) {
  FakeCluster cluster = Limited(2, MakeTrainingJob("a").Servers(1).BackoffLimit(9));
  Workers(cluster).memory.max = 4096 * kMebibyte;
  RunOutOfMemory(cluster, "a-worker-0");
  RunOutOfMemory(cluster, "a-worker-1");
  cluster.Reconcile();
  cluster.RestartOperator();
  Succeed(cluster);
  EXPECT_EQ(cluster.job().spec.workers.resources.memory.target, 768 * kMebibyte);
  EXPECT_EQ(Notes(cluster, "MemoryRaised").size(), 1U);
}

TEST(MemoryRaise, NothingIsRaisedThatMayNot) {
  FakeCluster without_bound = Limited(1);
  RunOutOfMemory(without_bound, "a-worker-0");
  Succeed(without_bound);
  EXPECT_THAT(Notes(without_bound, "MemoryRaised"), IsEmpty());
  EXPECT_THAT(Notes(without_bound, "WorkerFailed").back(), HasSubstr("raise the memory limit of its container"));

  FakeCluster raised_already = Limited(1);
  Workers(raised_already).memory = {.min = {}, .max = 4096 * kMebibyte, .target = 2048 * kMebibyte};
  RunOutOfMemory(raised_already, "a-worker-0");
  Succeed(raised_already);
  EXPECT_THAT(Notes(raised_already, "MemoryRaised"), IsEmpty()) << "its successor has more as it is";

  FakeCluster unlimited = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Workers(unlimited).memory.max = 4096 * kMebibyte;
  RunOutOfMemory(unlimited, "a-worker-0");
  Succeed(unlimited);
  EXPECT_THAT(Notes(unlimited, "MemoryRaised"), IsEmpty()) << "it was its machine that had no more";
}

TuningOutput Alarm(FakeCluster& cluster, const std::string& pod, int64_t limit) {
  TuningOutput tuning;
  tuning.raise_memory.push_back({.memory = {.pod = pod,
                                            .uid = std::string(kube::Uid(cluster.pod(pod))),
                                            .role = RoleName::kWorker,
                                            .used = limit * 4 / 5,
                                            .limit = limit},
                                 .bytes_per_second = 1.5 * kMebibyte,
                                 .seconds = 51});
  return tuning;
}

TEST(MemoryRaise, APodThatReachesItsLimitSoonHasMoreBeforeThat) {
  FakeCluster cluster = Limited(2);
  Workers(cluster).memory.max = 1000 * kMebibyte;
  cluster.tuning = Alarm(cluster, "a-worker-0", 512 * kMebibyte);
  cluster.Settle();
  EXPECT_THAT(
      Notes(cluster, "MemoryRaised"),
      ElementsAre("a-worker-0 uses 410Mi of 512Mi of memory, 2Mi more each second, and reaches the limit "
                  "in about 51 s; workers have 768Mi from now on (spec.workers.resources.memory.target, at most "
                  "1000Mi)"));
  EXPECT_EQ(cluster.job().spec.workers.resources.memory.target, 768 * kMebibyte);
  EXPECT_EQ(Asked(cluster, "a-worker-0")["limits"]["memory"], "768Mi");
  EXPECT_EQ(Asked(cluster, "a-worker-1")["limits"]["memory"], "768Mi");
  cluster.Settle();
  EXPECT_EQ(Notes(cluster, "MemoryRaised").size(), 1U) << "an alarm of the limit before raises nothing again";
}

TEST(MemoryRaise, AnAlarmThatIsNotOfThisPodOrLimitRaisesNothing) {
  const std::pair<const char*, std::function<void(FakeCluster&)>> cases[] = {
      {"of a pod before this one", [](FakeCluster& c) { c.tuning->raise_memory[0].memory.uid = "another"; }},
      {"of a limit that it had before", [](FakeCluster& c) { c.tuning->raise_memory[0].memory.limit /= 2; }},
      {"without a bound", [](FakeCluster& c) { Workers(c).memory.max.reset(); }},
      {"at its bound", [](FakeCluster& c) { Workers(c).memory.max = 512 * kMebibyte; }},
      {"the spec has more", [](FakeCluster& c) { Workers(c).memory.target = 900 * kMebibyte; }},
  };
  for (const auto& [name, change] : cases) {
    FakeCluster cluster = Limited(2);
    Workers(cluster).memory.max = 1000 * kMebibyte;
    cluster.tuning = Alarm(cluster, "a-worker-0", 512 * kMebibyte);
    change(cluster);
    cluster.Settle();
    EXPECT_THAT(Notes(cluster, "MemoryRaised"), IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace attune::controller::resizes_test
