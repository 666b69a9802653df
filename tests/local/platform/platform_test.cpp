// A whole local platform with real processes: pods of /bin/sh, awaited through the API.
#include "operator/local/platform.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operator/local/instance.h"
#include "tests/local/platform/platform_rig.h"
#include "tests/scratch.h"

namespace attune::local::platform_test {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::Json;
using testing::Key;

TEST_F(PlatformTest, APodRunsToItsEndAndTellsTheStory) {
  Create(Pod("a", "echo hello; exit 0"));
  ASSERT_TRUE(AwaitPhase("a", "Succeeded"));
  const Json pod = Read("a");
  EXPECT_THAT(std::string(kube::StringAt(pod, {"status", "podIP"})), ::testing::StartsWith("127."));
  EXPECT_FALSE(kube::StringAt(pod, {"spec", "nodeName"}).empty());
  const Json& end = pod["status"]["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(end["exitCode"], 0);
  EXPECT_EQ(end["reason"], "Completed");
  EXPECT_EQ(Log("a"), "hello\n");
}

TEST_F(PlatformTest, AFailureHasItsExitCode) {
  Create(Pod("a", "echo broken >&2; exit 3"));
  ASSERT_TRUE(AwaitPhase("a", "Failed"));
  EXPECT_EQ(Read("a")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
  EXPECT_EQ(Log("a"), "broken\n");
}

TEST_F(PlatformTest, PodsFindEachOtherByNameAndShareClaims) {
  Json pod = Pod("a", "echo $PEER > $DATA/peer; cat $TOKEN_FILE | wc -c; echo $SELF");
  pod["spec"]["containers"][0]["env"] = {
      {{"name", "PEER"}, {"value", "b.svc-name.default.svc:7400"}},
      {{"name", "SELF"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}},
      {{"name", "DATA"}, {"value", "/data"}},
      {{"name", "TOKEN_FILE"}, {"value", "/secrets/token"}}};
  pod["spec"]["containers"][0]["volumeMounts"] = {{{"name", "data"}, {"mountPath", "/data"}},
                                                  {{"name", "token"}, {"mountPath", "/secrets"}}};
  const Json token = {{"path", "token"}, {"audience", "attune.dev"}, {"expirationSeconds", 3600}};
  pod["spec"]["volumes"] = {
      {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "shared"}}}},
      {{"name", "token"}, {"projected", {{"sources", Json::array({{{"serviceAccountToken", token}}})}}}}};
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Succeeded"));
  EXPECT_EQ(Log("a"), "64\n" + std::string(kube::StringAt(Read("a"), {"status", "podIP"})) + "\n");
  Json peer = Pod("b", "cat /data/peer; true");
  peer["spec"]["containers"][0]["command"] = {"cat", "/data/peer"};
  peer["spec"]["containers"][0]["volumeMounts"] = Json::array({{{"name", "data"}, {"mountPath", "/data"}}});
  peer["spec"]["volumes"] = Json::array({pod["spec"]["volumes"][0]});
  Create(peer);
  ASSERT_TRUE(AwaitPhase("b", "Succeeded"));
  EXPECT_EQ(Log("b"), std::string(kube::StringAt(Read("b"), {"status", "podIP"})) + ":7400\n")
      << "the address was promised before the pod was there";
}

TEST_F(PlatformTest, ASidecarStartsFirstEndsLastAndDecidesNothing) {
  Json pod = Pod("a", "sleep 0.3; exit 0");
  Json sidecar = Container("side", "trap 'echo term; exit 9' TERM; echo up; while :; do sleep 0.05; done");
  sidecar["restartPolicy"] = "Always";
  pod["spec"]["initContainers"] = Json::array({sidecar});
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Succeeded"));
  EXPECT_EQ(Log("a", {.container = "side"}), "up\nterm\n");
  EXPECT_EQ(Read("a")["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 9);
}

TEST_F(PlatformTest, ReadyFollowsTheProbe) {
  Json pod = Pod("a", "trap 'exit 0' TERM; until [ -e go ]; do sleep 0.05; done; while :; do sleep 0.05; done");
  pod["spec"]["containers"][0]["readinessProbe"] = {
      {"exec", {{"command", {"test", "-e", (platform->pod_directory(Key("a")) / "go").string()}}}}};
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Running"));
  const auto ready = [&] { return Read("a")["status"]["containerStatuses"][0]["ready"].get<bool>(); };
  EXPECT_FALSE(ready());
  std::ofstream(platform->pod_directory(Key("a")) / "go") << "x";
  EXPECT_TRUE(Eventually(ready));
}

TEST_F(PlatformTest, AnAbsentProgramIsExplained) {
  Json pod = Pod("a", "");
  pod["spec"]["containers"][0]["command"] = Json::array({"no-such-program"});
  Create(pod);
  ASSERT_TRUE(Eventually([&] {
    return !kube::At(Read("a"), {"status", "containerStatuses"}).empty() &&
           Read("a")["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "StartError";
  }));
  EXPECT_EQ(Read("a")["status"]["phase"], "Failed");
  EXPECT_THAT(Read("a")["status"]["containerStatuses"][0]["state"]["terminated"]["message"].get<std::string>(),
              HasSubstr("no-such-program"));
  ASSERT_TRUE(Eventually([&] { return !api().List(kube::kEvents, {}).value().items.empty(); }));
  EXPECT_THAT(api().List(kube::kEvents, {}).value().items[0]["note"].get<std::string>(), HasSubstr("looked in"));
}

TEST_F(LimitsTest, AContainerBeyondItsMemoryIsKilledAndTheReasonSaysSo) {
  // dd's one block lies in its memory.
  Create(Limited("a", "exec dd if=/dev/zero of=/dev/null bs=200M count=1", {{"memory", "64Mi"}}));
  ASSERT_TRUE(AwaitPhase("a", "Failed"));
  const Json end = Read("a")["status"]["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(end["reason"], "OOMKilled");
  EXPECT_EQ(end["exitCode"], 137);
  Create(Limited("b", "exec dd if=/dev/zero of=/dev/null bs=200M count=1", {{"memory", "400Mi"}}));
  EXPECT_TRUE(AwaitPhase("b", "Succeeded")) << "enough for it";
}

// Turns in a loop until the kernel has stopped its control group often for using up its share; never without a limit.
// Says where the group is.
constexpr char kUntilThrottled[] =
    "group=/sys/fs/cgroup/cpu$(awk -F: '(\",\" $2 \",\") ~ /,cpu,/ { print $3 }' /proc/self/cgroup)\n"
    "[ -e $group/cpu.stat ] || group=/sys/fs/cgroup$(awk -F: '$1 == 0 { print $3 }' /proc/self/cgroup)\n"
    "[ -e $group/cpu.cfs_quota_us ] || [ $(cut -d' ' -f1 $group/cpu.max) != max ] || group=$(dirname $group)\n"
    "echo $group\n"
    "until [ $(sed -n 's/^nr_throttled //p' $group/cpu.stat) -ge 3 ]; do :; done";

TEST_F(LimitsTest, AContainerIsHeldToItsCpu) {
  Create(Limited("a", kUntilThrottled, {{"cpu", "100m"}}));
  EXPECT_TRUE(AwaitPhase("a", "Succeeded"));
}

TEST_F(LimitsTest, TheContainersOfAPodAreHeldToItsCoresTogetherAndLeaveNoGroup) {
  platform.reset();
  auto started = Platform::Start({.run_directory = directory.path() / "limited",
                                  .shim_command = {POD_SHIM_PROGRAM, "pod-shim"},
                                  .cores = CoreLimits::Parse("0.1,server=64").value()},
                                 time);
  ASSERT_TRUE(started.ok()) << ToString(started.status());
  platform = std::move(*started);
  Json pod = Pod("a", kUntilThrottled);
  pod["spec"]["containers"].push_back(Container("other", kUntilThrottled));
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Succeeded"));
  const std::string group = Log("a", {.container = "main"});
  EXPECT_EQ(group, Log("a", {.container = "other"}));
  EXPECT_THAT(group, HasSubstr("/attune-"));
  EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(group.substr(0, group.find('\n'))); }));
}

TEST_F(PlatformTest, DeletionGivesGraceThenKillsAndKeepsFinalizedObjects) {
  Json pod = Pod("a", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done");
  pod["metadata"]["finalizers"] = {"attune.dev/outcome"};
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Running"));
  ASSERT_TRUE(Eventually([&] { return Log("a") == "ready\n"; }));
  ASSERT_TRUE(api().Delete(kube::kPods, Key("a")).ok());
  ASSERT_TRUE(AwaitPhase("a", "Failed"));
  EXPECT_EQ(Log("a"), "ready\nasked\n");
  EXPECT_EQ(Read("a")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 137);
  ASSERT_TRUE(
      api().Patch(kube::kPods, Key("a"), kube::PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}}).ok());
  EXPECT_TRUE(Eventually([&] { return Read("a").is_null(); }));
}

TEST_F(PlatformTest, APodOfTheSameNameStartsAfresh) {
  for (const char* word : {"one", "two"}) {
    Create(Pod("a", std::string("echo ") + word));
    ASSERT_TRUE(AwaitPhase("a", "Succeeded"));
    EXPECT_EQ(Log("a"), std::string(word) + "\n");
    ASSERT_TRUE(api().Delete(kube::kPods, Key("a")).ok());
    ASSERT_TRUE(Eventually([&] { return Read("a").is_null(); }));
  }
}

TEST_F(PlatformTest, LogsAreFollowedToTheEnd) {
  Create(Pod("a", "for i in 1 2 3 4 5; do echo $i; sleep 0.05; done"));
  ASSERT_TRUE(Eventually([&] { return Log("a").starts_with("1\n"); }));
  EXPECT_EQ(Log("a", {.follow = true}), "1\n2\n3\n4\n5\n");
  EXPECT_EQ(Log("a", {.tail_lines = 2}), "4\n5\n");
}

TEST_F(PlatformTest, RestartsKeepTheFormerLog) {
  Json pod = Pod("a", "echo run; test -e again || { touch again; exit 1; }");
  pod["spec"]["restartPolicy"] = "OnFailure";
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Succeeded"));
  EXPECT_EQ(Read("a")["status"]["containerStatuses"][0]["restartCount"], 1);
  EXPECT_EQ(Log("a", {.previous = true}), "run\n");
}

TEST_F(PlatformTest, TheEndOfThePlatformEndsItsProcesses) {
  const std::string marker = "MARK=end-test-" + std::to_string(getpid());
  Json pod = Pod("a", "trap '' TERM; setsid sleep 1000 & while :; do sleep 0.1; done");
  pod["spec"]["containers"][0]["env"] = Json::array({{{"name", "MARK"}, {"value", marker.substr(5)}}});
  Create(pod);
  ASSERT_TRUE(AwaitPhase("a", "Running"));
  ASSERT_TRUE(Eventually([&] { return testing::ProcessesWith(marker).size() >= 3; })) << "shim, shell and sleep";
  platform.reset();
  EXPECT_TRUE(testing::ProcessesWith(marker).empty());
}

TEST(PlatformKilledTest, NothingIsLeftWhenTheWholePlatformIsKilled) {
  const Scratch directory;
  setenv("LANG", ("kill-test-" + std::to_string(getpid())).c_str(),
         1);  // passed on to containers: marks them for this test
  const std::string marker = std::string("LANG=") + getenv("LANG");
  int output[2];
  ASSERT_EQ(pipe(output), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], 1);
    execl(POD_SHIM_PROGRAM, POD_SHIM_PROGRAM, "run-platform", directory.path().c_str(), nullptr);
    _exit(127);
  }
  close(output[1]);
  ASSERT_TRUE(Eventually([&] { return testing::ProcessesWith(marker).size() >= 4; }))
      << "platform, shim, shell and its child";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return testing::ProcessesWith(marker).empty(); }));
  close(output[0]);
  unsetenv("LANG");
}

TEST(InstanceTest, LivingInstancesAreFoundAndStaleFilesRemoved) {
  const Scratch directory;
  setenv("XDG_RUNTIME_DIR", directory.path().c_str(), 1);
  Instance instance{.process_id = getpid(),
                    .url = "http://127.0.0.1:1",
                    .token = "t",
                    .job = "default/a",
                    .run_directory = "/r",
                    .started = "2026-01-01T00:00:00Z"};
  {
    const auto registration = InstanceRegistration::Register(instance);
    ASSERT_TRUE(registration.ok()) << ToString(registration.status());
    std::ofstream(directory.path() / "attune" / "999999999.json") << R"({"processId": 999999999})";
    std::ofstream(directory.path() / "attune" / "1.json") << "not json";
    const auto found = FindInstances();
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().token, "t");
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "attune" / "999999999.json"));
  }
  EXPECT_TRUE(FindInstances().value().empty());
  unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace attune::local::platform_test
