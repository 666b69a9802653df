#include "operator/local/containers/resource_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/local/platform/support.h"
#include "tests/scratch.h"

namespace attune::local::resource_limits_test {
namespace {

namespace fs = std::filesystem;
using kube::Json;

// Control groups as a directory of our own; that the kernel enforces them is tested in tests/local/platform.
class ContainerLimitsTest : public ::testing::Test {
 protected:
  void OwnGroups(const std::string& lines) { std::ofstream(groups_.own) << lines; }
  static std::string Read(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    std::getline(in, text);
    return text;
  }
  Scratch directory_;
  const ControlGroups groups_{.root = directory_.path() / "cgroup", .own = directory_.path() / "self"};
  const std::string name_ = "attune-" + std::to_string(getpid()) + "-c1";
  static Json Limits(const Json& limits) { return {{"limits", limits}}; }
  const Json limits_ = Limits({{"memory", "64Mi"}, {"cpu", "250m"}});
};

TEST_F(ContainerLimitsTest, Version1HasAHierarchyForEachController) {
  fs::create_directories(groups_.root / "memory/user");
  fs::create_directories(groups_.root / "cpu");
  OwnGroups("5:memory:/user\n4:cpu,cpuacct:/\n");
  const auto limits = ContainerLimits::Make(limits_, "c1", groups_);
  EXPECT_EQ(limits.files(), (std::vector<std::string>{(groups_.root / "memory/user" / name_ / "cgroup.procs").string(),
                                                      (groups_.root / "cpu" / name_ / "cgroup.procs").string()}));
  EXPECT_EQ(Read(groups_.root / "memory/user" / name_ / "memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(Read(groups_.root / "cpu" / name_ / "cpu.cfs_quota_us"), "25000");
}

TEST_F(ContainerLimitsTest, InVersion2ItClimbsToAGroupThatMayBeDivided) {
  fs::create_directories(groups_.root / "user.slice");
  std::ofstream(groups_.root / "cgroup.controllers") << "cpu memory";
  OwnGroups("0::/user.slice/session-1.scope\n");  // in which nothing can be made: it is not there
  const auto limits = ContainerLimits::Make(limits_, "c1", groups_);
  EXPECT_EQ(limits.files(), std::vector<std::string>{(groups_.root / "user.slice" / name_ / "cgroup.procs").string()});
  EXPECT_EQ(Read(groups_.root / "user.slice" / name_ / "memory.max"), "67108864");
  EXPECT_EQ(Read(groups_.root / "user.slice" / name_ / "cpu.max"), "25000 100000");
}

TEST_F(ContainerLimitsTest, WithoutRightsOrWithoutLimitsThereAreNoGroups) {
  OwnGroups("5:memory:/\n");
  EXPECT_TRUE(ContainerLimits::Make(limits_, "c1", groups_).files().empty()) << "no control groups at all";
  fs::create_directories(groups_.root / "memory");
  EXPECT_TRUE(ContainerLimits::Make(Json::object(), "c1", groups_).files().empty());
  EXPECT_TRUE(ContainerLimits::Make(Limits({{"memory", "plenty"}}), "c1", groups_).files().empty());
}

TEST_F(ContainerLimitsTest, GroupsOfAKilledPlatformAreRemoved) {
  const fs::path parent = groups_.root / "memory";
  const std::string unused = "attune-4194305-c7";  // above the largest process id of Linux
  for (const std::string& group :
       {unused, "attune-" + std::to_string(getppid()) + "-c8", std::string("attune-node1")}) {
    fs::create_directories(parent / group);
  }
  OwnGroups("5:memory:/\n");
  ContainerLimits::Make(Limits({{"memory", "64Mi"}}), "c1", groups_);
  EXPECT_FALSE(fs::exists(parent / unused));
  EXPECT_TRUE(fs::exists(parent / ("attune-" + std::to_string(getppid()) + "-c8"))) << "its platform lives";
  EXPECT_TRUE(fs::exists(parent / "attune-node1")) << "not of a container";
}

TEST_F(ContainerLimitsTest, ContainersOfAPodShareItsCoresInVersion1) {
  fs::create_directories(groups_.root / "cpu");
  fs::create_directories(groups_.root / "memory");
  OwnGroups("5:memory:/\n4:cpu,cpuacct:/\n");
  auto pod = PodLimits::Make(0.25, "p1", groups_);
  ASSERT_TRUE(pod.ok()) << Message(pod.status());
  const fs::path group = groups_.root / "cpu" / ("attune-" + std::to_string(getpid()) + "-p1");
  EXPECT_EQ(Read(group / "cpu.cfs_quota_us"), "5000") << "of each 20 ms";
  EXPECT_EQ(Read(group / "cpu.cfs_period_us"), "20000");
  const auto without = ContainerLimits::Make(Json::object(), "c1", groups_, &*pod);
  EXPECT_EQ(without.files(), std::vector<std::string>{(group / "cgroup.procs").string()});
  const auto narrower = ContainerLimits::Make(Limits({{"cpu", "100m"}}), "c2", groups_, &*pod);
  const std::string name = "attune-" + std::to_string(getpid()) + "-c2";
  const fs::path inner = group / name;
  EXPECT_EQ(narrower.files(), (std::vector<std::string>{(groups_.root / "memory" / name / "cgroup.procs").string(),
                                                        (inner / "cgroup.procs").string()}));
  EXPECT_EQ(Read(inner / "cpu.cfs_quota_us"), "10000");
  const auto wider = ContainerLimits::Make(Limits({{"cpu", "2"}, {"memory", "64Mi"}}), "c3", groups_, &*pod);
  EXPECT_EQ(Read(group / ("attune-" + std::to_string(getpid()) + "-c3") / "cpu.cfs_quota_us"), "25000")
      << "no more than the pod has";
  EXPECT_EQ(wider.files().size(), 2U);
}

TEST_F(ContainerLimitsTest, ContainersOfAPodAreLeavesOfItInVersion2) {
  fs::create_directories(groups_.root);
  std::ofstream(groups_.root / "cgroup.controllers") << "cpu memory";
  OwnGroups("0::/\n");
  auto pod = PodLimits::Make(0.02, "p1", groups_);
  ASSERT_TRUE(pod.ok());
  const fs::path group = groups_.root / ("attune-" + std::to_string(getpid()) + "-p1");
  EXPECT_EQ(Read(group / "cpu.max"), "2000 100000") << "the kernel takes no quota below a millisecond";
  const auto limits = ContainerLimits::Make(Json::object(), "c1", groups_, &*pod);
  EXPECT_EQ(limits.files(), std::vector<std::string>{(group / name_ / "cgroup.procs").string()});
}

TEST_F(ContainerLimitsTest, APodThatCannotBeLimitedIsAnErrorWithAWayOut) {
  OwnGroups("4:cpu:/\n");
  const auto pod = PodLimits::Make(0.25, "p1", groups_);
  ASSERT_FALSE(pod.ok());
  EXPECT_EQ(pod.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(pod.status()).find("run attune as root, or"), std::string::npos);
}

TEST_F(ContainerLimitsTest, APodOfAKilledPlatformIsRemovedWithItsContainers) {
  const fs::path pod = groups_.root / "cpu" / "attune-4194305-p1";
  fs::create_directories(pod / "attune-4194305-c7");
  OwnGroups("4:cpu:/\n");
  ASSERT_TRUE(PodLimits::Make(0.25, "p2", groups_).ok());
  EXPECT_FALSE(fs::exists(pod));
}

TEST_F(ContainerLimitsTest, LimitsOfRunningProcessesChangeInVersion1) {
  fs::create_directories(groups_.root / "memory");
  fs::create_directories(groups_.root / "cpu");
  OwnGroups("5:memory:/\n4:cpu,cpuacct:/\n");
  auto limits = ContainerLimits::Make(limits_, "c1", groups_);
  ASSERT_EQ(limits.LimitCpu(0.6), OkStatus());
  ASSERT_EQ(limits.LimitMemory(32 << 20), OkStatus());
  EXPECT_EQ(Read(groups_.root / "cpu" / name_ / "cpu.cfs_quota_us"), "60000");
  EXPECT_EQ(Read(groups_.root / "cpu" / name_ / "cpu.cfs_period_us"), "100000");
  EXPECT_EQ(Read(groups_.root / "memory" / name_ / "memory.limit_in_bytes"), "33554432");
  ASSERT_EQ(limits.LimitCpu(0.001), OkStatus());
  EXPECT_EQ(Read(groups_.root / "cpu" / name_ / "cpu.cfs_quota_us"), "1000") << "the least that the kernel takes";
}

TEST_F(ContainerLimitsTest, LimitsOfRunningProcessesChangeInVersion2) {
  fs::create_directories(groups_.root);
  std::ofstream(groups_.root / "cgroup.controllers") << "cpu memory";
  OwnGroups("0::/\n");
  auto limits = ContainerLimits::Make(limits_, "c1", groups_);
  ASSERT_EQ(limits.LimitCpu(0.6), OkStatus());
  ASSERT_EQ(limits.LimitMemory(128 << 20), OkStatus());
  EXPECT_EQ(Read(groups_.root / name_ / "cpu.max"), "60000 100000");
  EXPECT_EQ(Read(groups_.root / name_ / "memory.max"), "134217728");
}

TEST_F(ContainerLimitsTest, AContainerWithARequestAloneMayGetALimitLater) {
  fs::create_directories(groups_.root / "memory");
  fs::create_directories(groups_.root / "cpu");
  OwnGroups("5:memory:/\n4:cpu,cpuacct:/\n");
  auto limits = ContainerLimits::Make({{"requests", {{"cpu", "100m"}}}}, "c1", groups_);
  EXPECT_EQ(limits.files().size(), 2U);
  EXPECT_FALSE(fs::exists(groups_.root / "cpu" / name_ / "cpu.cfs_quota_us"));
  ASSERT_EQ(limits.LimitCpu(0.5), OkStatus());
  ASSERT_EQ(limits.LimitMemory(1 << 20), OkStatus());
  EXPECT_EQ(Read(groups_.root / "cpu" / name_ / "cpu.cfs_quota_us"), "50000");
}

TEST_F(ContainerLimitsTest, APodsCoresBoundItsContainersAlsoLater) {
  fs::create_directories(groups_.root / "cpu");
  fs::create_directories(groups_.root / "memory");
  OwnGroups("5:memory:/\n4:cpu,cpuacct:/\n");
  auto pod = PodLimits::Make(1.0 / 3, "p1", groups_);
  ASSERT_TRUE(pod.ok());
  const fs::path group = groups_.root / "cpu" / ("attune-" + std::to_string(getpid()) + "-p1");
  EXPECT_EQ(Read(group / "cpu.cfs_quota_us"), "6666");
  auto limits = ContainerLimits::Make(Limits({{"cpu", "100m"}}), "c1", groups_, &*pod);
  ASSERT_EQ(limits.LimitCpu(0.2), OkStatus());
  EXPECT_EQ(Read(group / name_ / "cpu.cfs_quota_us"), "20000");
  ASSERT_EQ(limits.LimitCpu(2), OkStatus());
  EXPECT_LE(std::stoi(Read(group / name_ / "cpu.cfs_quota_us")), 33330) << "the kernel takes no larger share";
  EXPECT_GE(std::stoi(Read(group / name_ / "cpu.cfs_quota_us")), 33329);
  EXPECT_EQ(Read(group / "cpu.cfs_quota_us"), "6666") << "the pod's stays";
  auto requested = ContainerLimits::Make({{"requests", {{"cpu", "10m"}}}}, "c2", groups_, &*pod);
  EXPECT_GE(std::stoi(Read(group / ("attune-" + std::to_string(getpid()) + "-c2") / "cpu.cfs_quota_us")), 33329)
      << "the sidecar reads the innermost group";
}

TEST_F(ContainerLimitsTest, ALimitThatCannotBeWrittenIsAnErrorWithAWayOut) {
  OwnGroups("5:memory:/\n");
  auto without_rights = ContainerLimits::Make(limits_, "c1", groups_);
  const Status refused = without_rights.LimitCpu(1);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused).find("run attune as root, or"), std::string::npos);
  auto without_figures = ContainerLimits::Make(Json::object(), "c2", groups_);
  EXPECT_NE(Message(without_figures.LimitMemory(1 << 20)).find("delete its pod"), std::string::npos);

  fs::create_directories(groups_.root / "memory");
  fs::create_directories(groups_.root / "cpu");
  OwnGroups("5:memory:/\n4:cpu,cpuacct:/\n");
  auto limits = ContainerLimits::Make(limits_, "c1", groups_);
  const fs::path file = groups_.root / "cpu" / name_ / "cpu.cfs_quota_us";
  fs::remove(file);
  fs::create_directory(file);  // refuses to be written, as a group does that is gone
  const Status failed = limits.LimitCpu(1);
  EXPECT_EQ(failed.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(failed).find("cannot write 100000 to " + file.string()), std::string::npos) << Message(failed);
  EXPECT_NE(Message(failed).find("delete the pod"), std::string::npos) << Message(failed);
}

TEST_F(ContainerLimitsTest, MemoryInUseLeavesOutWhatTheKernelDropsAtOnce) {
  fs::create_directories(groups_.root / "memory");
  fs::create_directories(groups_.root / "cpu");
  OwnGroups("5:memory:/\n4:cpu,cpuacct:/\n");
  const auto limits = ContainerLimits::Make(limits_, "c1", groups_);
  EXPECT_EQ(limits.MemoryInUse(), std::nullopt);
  std::ofstream(groups_.root / "memory" / name_ / "memory.usage_in_bytes") << "5000\n";
  std::ofstream(groups_.root / "memory" / name_ / "memory.stat") << "total_inactive_file 1000\n";
  EXPECT_EQ(limits.MemoryInUse(), 4000U);
}

}  // namespace
}  // namespace attune::local::resource_limits_test
