#include "operator/local/resource_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/local/platform/support.h"

namespace attune::local {
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
  testing::TemporaryDirectory directory_;
  const ControlGroups groups_{.root = directory_.path() / "cgroup", .own = directory_.path() / "self"};
  const std::string name_ = "attune-" + std::to_string(getpid()) + "-c1";
  const Json limits_ = {{"memory", "64Mi"}, {"cpu", "250m"}};
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
  EXPECT_TRUE(ContainerLimits::Make({{"memory", "plenty"}}, "c1", groups_).files().empty());
}

TEST_F(ContainerLimitsTest, GroupsOfAKilledPlatformAreRemoved) {
  const fs::path parent = groups_.root / "memory";
  const std::string nobody = "attune-4194305-c7";  // above the largest process id of Linux
  for (const std::string& group :
       {nobody, "attune-" + std::to_string(getppid()) + "-c8", std::string("attune-node1")}) {
    fs::create_directories(parent / group);
  }
  OwnGroups("5:memory:/\n");
  ContainerLimits::Make({{"memory", "64Mi"}}, "c1", groups_);
  EXPECT_FALSE(fs::exists(parent / nobody));
  EXPECT_TRUE(fs::exists(parent / ("attune-" + std::to_string(getppid()) + "-c8"))) << "its platform lives";
  EXPECT_TRUE(fs::exists(parent / "attune-node1")) << "not of a container";
}

}  // namespace
}  // namespace attune::local
