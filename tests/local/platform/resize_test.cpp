// Pods that are resized while their processes run: real processes and control groups.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "base/os/cgroup.h"
#include "operator/local/nodes/node_objects.h"
#include "tests/local/platform/platform_rig.h"

namespace attune::local::resize_test {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::Json;
using testing::Key;

// A container's "$$" is a "$", as in Kubernetes.
const std::string kSayProcess = "read process rest < /proc/self/stat; echo $process; ";
const std::string kBusy = kSayProcess + "while :; do :; done";
constexpr uint64_t kMi = 1 << 20;

class ResizeTest : public LimitsTest {
 protected:
  // Requests and limits alike, so that the class of service stays.
  StatusOr<Json> Resize(const std::string& pod, const Json& amounts) {
    const Json container = {{"name", "main"}, {"resources", {{"limits", amounts}, {"requests", amounts}}}};
    return api().Patch(kube::kPods, Key(pod), kube::PatchType::kStrategicMerge,
                       {{"spec", {{"containers", Json::array({container})}}}}, "resize");
  }
  Json Status(const std::string& pod) {
    const Json object = Read(pod);
    const Json& statuses = kube::At(object, {"status", "containerStatuses"});
    return statuses.empty() ? Json() : statuses[0];
  }
  bool AwaitInForce(const std::string& pod, const std::string& name, const std::string& amount) {
    return Eventually([&] { return kube::StringAt(Status(pod), {"resources", "limits", name.c_str()}) == amount; });
  }
  // "reason: message" of a condition; "" without it.
  std::string Condition(const std::string& pod, std::string_view type) {
    const Json object = Read(pod);
    for (const Json& condition : kube::At(object, {"status", "conditions"})) {
      if (kube::StringAt(condition, {"type"}) == type)
        return condition.value("reason", "") + ": " + condition.value("message", "");
    }
    return "";
  }
  // The process that a pod's log begins with.
  pid_t ProcessOf(const std::string& pod) {
    EXPECT_TRUE(Eventually([&] { return !Log(pod).empty() && Log(pod).find('\n') != std::string::npos; }));
    const pid_t process = std::atoi(Log(pod).c_str());
    EXPECT_GT(process, 1) << Log(pod);
    return process;
  }
  // What holds for it now, as its sidecar reads it.
  static CgroupLimits Limits(pid_t process) {
    return ReadCgroupLimits(kCgroupMount, ReadCgroupPaths("/proc/" + std::to_string(process) + "/cgroup"));
  }
};

TEST_F(ResizeTest, ABusyProcessIsGivenMoreCpuAndLessAgainWithoutARestart) {
  Create(Limited("a", kBusy, {{"cpu", "200m"}, {"memory", "64Mi"}}));
  const pid_t process = ProcessOf("a");
  ASSERT_TRUE(AwaitInForce("a", "cpu", "200m")) << "the status has it from the start on";
  EXPECT_EQ(Status("a")["allocatedResources"]["memory"], "64Mi");
  EXPECT_DOUBLE_EQ(Limits(process).cpu_cores, 0.2);
  const std::string started = Status("a")["state"]["running"]["startedAt"];
  for (const auto& [amount, cores] : {std::pair("600m", 0.6), std::pair("200m", 0.2)}) {
    ASSERT_TRUE(Resize("a", {{"cpu", amount}}).ok());
    ASSERT_TRUE(AwaitInForce("a", "cpu", amount)) << Read("a").dump(2);
    EXPECT_EQ(Status("a")["allocatedResources"]["cpu"], amount);
    EXPECT_DOUBLE_EQ(Limits(process).cpu_cores, cores);
    EXPECT_EQ(Condition("a", "PodResizePending") + Condition("a", "PodResizeInProgress"), "");
  }
  const double throttled = Limits(process).throttled_seconds;
  EXPECT_TRUE(Eventually([&] { return Limits(process).throttled_seconds > throttled; })) << "the limit is enforced";
  EXPECT_EQ(kill(process, 0), 0) << "the same process all the time";
  EXPECT_EQ(Status("a")["restartCount"], 0);
  EXPECT_EQ(Status("a")["state"]["running"]["startedAt"], started);
}

TEST_F(ResizeTest, MemoryInUseIsNotTakenAway) {
  Create(Limited("a",
                 kSayProcess + "x=$(head -c 64M /dev/zero | tr '\\0' x); echo filled; while :; do sleep 0.05; done",
                 {{"cpu", "1"}, {"memory", "512Mi"}}));
  const pid_t process = ProcessOf("a");
  ASSERT_TRUE(Eventually([&] { return Log("a").find("filled") != std::string::npos; }));
  ASSERT_TRUE(Resize("a", {{"memory", "16Mi"}}).ok());
  EXPECT_TRUE(Eventually([&] {
    return Condition("a", "PodResizeInProgress")
        .starts_with("Error: cannot decrease memory limits: attempting to set container \"main\" memory limit");
  }));
  EXPECT_EQ(Status("a")["resources"]["limits"]["memory"], "512Mi");
  EXPECT_EQ(Limits(process).memory_bytes, 512 * kMi);
  ASSERT_TRUE(Resize("a", {{"memory", "384Mi"}}).ok());
  EXPECT_TRUE(AwaitInForce("a", "memory", "384Mi"));
  EXPECT_TRUE(Eventually([&] { return Condition("a", "PodResizeInProgress").empty(); }));
  EXPECT_EQ(Limits(process).memory_bytes, 384 * kMi);
  EXPECT_EQ(kill(process, 0), 0);
}

TEST_F(ResizeTest, WhatTheMachineDoesNotHaveStaysPendingAndChangesNothing) {
  Create(Limited("a", kBusy, {{"cpu", "200m"}, {"memory", "64Mi"}}));
  const pid_t process = ProcessOf("a");
  ASSERT_TRUE(Resize("a", {{"cpu", "100000"}}).ok());
  EXPECT_TRUE(Eventually([&] {
    return Condition("a", "PodResizePending").starts_with("Infeasible: Node didn't have enough capacity: cpu");
  }));
  EXPECT_DOUBLE_EQ(Limits(process).cpu_cores, 0.2);
  EXPECT_EQ(Status("a")["resources"]["limits"]["cpu"], "200m");
  ASSERT_TRUE(Resize("a", {{"cpu", "200m"}}).ok());
  EXPECT_TRUE(Eventually([&] { return Condition("a", "PodResizePending").empty(); }));
}

TEST_F(ResizeTest, RoomThatAnotherPodHasIsWaitedFor) {
  const unsigned cores = CapacityOfThisMachine().cores;
  Create(Limited("other", "while :; do sleep 0.05; done", {{"cpu", cores}, {"memory", "64Mi"}}));
  ASSERT_TRUE(AwaitPhase("other", "Running"));
  Create(Limited("a", kBusy, {{"cpu", "200m"}, {"memory", "64Mi"}}));
  ASSERT_TRUE(AwaitPhase("a", "Running"));
  ASSERT_TRUE(Resize("a", {{"cpu", "300m"}}).ok());
  EXPECT_TRUE(Eventually([&] {
    return Condition("a", "PodResizePending").starts_with("Deferred: Node didn't have enough resource: cpu");
  }));
  ASSERT_TRUE(api().Delete(kube::kPods, Key("other"), {.grace_period_seconds = 0}).ok());
  EXPECT_TRUE(AwaitInForce("a", "cpu", "300m"));
  EXPECT_EQ(Condition("a", "PodResizePending"), "");
}

TEST_F(ResizeTest, OfManyResizesTheLastOneHolds) {
  Create(Limited("a", kBusy, {{"cpu", "200m"}, {"memory", "64Mi"}}));
  const pid_t process = ProcessOf("a");
  for (int millicores = 210; millicores <= 700; millicores += 10)
    ASSERT_TRUE(Resize("a", {{"cpu", std::to_string(millicores) + "m"}}).ok());
  EXPECT_TRUE(AwaitInForce("a", "cpu", "700m"));
  EXPECT_DOUBLE_EQ(Limits(process).cpu_cores, 0.7);
  EXPECT_EQ(Status("a")["restartCount"], 0);
}

TEST_F(ResizeTest, AContainerThatIsBetweenTwoRunsStartsWithTheNewFigures) {
  Json pod = Limited("a", "[ -e again ] || { touch again; exit 1; }; " + kSayProcess + "while :; do sleep 0.05; done",
                     {{"cpu", "200m"}, {"memory", "64Mi"}});
  pod["spec"]["restartPolicy"] = "Always";
  Create(pod);
  ASSERT_TRUE(Eventually([&] {
    return kube::StringAt(Status("a"), {"state", "waiting", "reason"}) == "CrashLoopBackOff";
  }));
  ASSERT_TRUE(Resize("a", {{"cpu", "600m"}}).ok());
  EXPECT_TRUE(AwaitInForce("a", "cpu", "600m"));
  ASSERT_TRUE(Eventually([&] { return kube::At(Status("a"), {"state"}).contains("running"); }));
  EXPECT_DOUBLE_EQ(Limits(ProcessOf("a")).cpu_cores, 0.6);
  EXPECT_EQ(Status("a")["restartCount"], 1);
}

TEST_F(ResizeTest, APodThatIsDeletedMeanwhileEndsAndLeavesNoGroup) {
  Create(Limited("a", kBusy, {{"cpu", "200m"}, {"memory", "64Mi"}}));
  const pid_t process = ProcessOf("a");
  const CgroupPaths paths = ReadCgroupPaths("/proc/" + std::to_string(process) + "/cgroup");
  std::vector<std::filesystem::path> groups;
  for (const auto& [controller, path] : paths) {
    if (path.find("/attune-") != std::string::npos)
      groups.push_back(std::filesystem::path(kCgroupMount) / controller / path.substr(1));
  }
  ASSERT_FALSE(groups.empty());
  ASSERT_TRUE(Resize("a", {{"cpu", "600m"}}).ok());
  ASSERT_TRUE(api().Delete(kube::kPods, Key("a")).ok());
  (void)Resize("a", {{"cpu", "700m"}});  // while it ends, or when it has ended
  EXPECT_TRUE(Eventually([&] { return Read("a").is_null(); }));
  for (const std::filesystem::path& group : groups)
    EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(group); })) << group;
}

TEST_F(ResizeTest, ALimitIsAddedToAContainerThatOnlyHadARequest) {
  Json pod = Pod("a", kBusy);
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "100m"}}}};
  Create(pod);
  const pid_t process = ProcessOf("a");
  EXPECT_EQ(Limits(process).cpu_cores, 0);
  const Json container = {{"name", "main"}, {"resources", {{"limits", {{"cpu", "300m"}}}}}};
  const auto resized = api().Patch(kube::kPods, Key("a"), kube::PatchType::kStrategicMerge,
                                   {{"spec", {{"containers", Json::array({container})}}}}, "resize");
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_TRUE(AwaitInForce("a", "cpu", "300m"));
  EXPECT_DOUBLE_EQ(Limits(process).cpu_cores, 0.3);
}

TEST_F(ResizeTest, TheCoresOfAPodAreTheUpperBound) {
  platform.reset();
  auto started = Platform::Start({.run_directory = directory.path() / "limited",
                                  .shim_command = {POD_SHIM_PROGRAM, "pod-shim"},
                                  .cores = CoreLimits::Parse("0.3").value()},
                                 time);
  ASSERT_TRUE(started.ok()) << ToString(started.status());
  platform = std::move(*started);
  Create(Limited("a", kBusy, {{"cpu", "100m"}, {"memory", "64Mi"}}));
  const pid_t process = ProcessOf("a");
  ASSERT_TRUE(Resize("a", {{"cpu", "200m"}}).ok());
  EXPECT_TRUE(AwaitInForce("a", "cpu", "200m"));
  EXPECT_DOUBLE_EQ(Limits(process).cpu_cores, 0.2);
  ASSERT_TRUE(Resize("a", {{"cpu", "1"}}).ok());
  EXPECT_TRUE(AwaitInForce("a", "cpu", "1")) << "what the container may use, were its machine larger";
  EXPECT_NEAR(Limits(process).cpu_cores, 0.3, 1e-4);
}

}  // namespace
}  // namespace attune::local::resize_test
