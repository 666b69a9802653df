#include "base/os/cgroup.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/os/kernel_text.h"
#include "tests/scratch.h"

namespace attune::cgroup_test {
namespace {

TEST(CgroupTest, MembershipOfBothVersions) {
  const auto paths = ParseCgroupMembership(
      "4:memory:/kubepods/pod1/c\n3:cpu,cpuacct:/kubepods/pod1/d\n1:name=systemd:/\n0::/e\nnoise\n");
  EXPECT_EQ(paths.at("memory"), "/kubepods/pod1/c");
  EXPECT_EQ(paths.at("cpu"), "/kubepods/pod1/d");
  EXPECT_EQ(paths.at("cpuacct"), "/kubepods/pod1/d");
  EXPECT_EQ(paths.at(""), "/e");
}

TEST(CgroupTest, LimitsOfVersion2) {
  const CgroupLimits limits = ParseCgroupV2({.memory_max = "536870912\n",
                                             .cpu_max = "150000 100000\n",
                                             .cpu_stat = "usage_usec 5000000\nthrottled_usec 250000\n"});
  EXPECT_EQ(limits.memory_bytes, 512u << 20);
  EXPECT_DOUBLE_EQ(limits.cpu_cores, 1.5);
  EXPECT_DOUBLE_EQ(limits.throttled_seconds, 0.25);
  const CgroupLimits none = ParseCgroupV2({.memory_max = "max\n", .cpu_max = "max 100000\n", .cpu_stat = ""});
  EXPECT_EQ(none.memory_bytes, 0u);
  EXPECT_EQ(none.cpu_cores, 0);
}

TEST(CgroupTest, LimitsOfVersion1) {
  const CgroupLimits limits =
      ParseCgroupV1({.memory_stat = "cache 1\nhierarchical_memory_limit 268435456\ntotal_cache 1\n",
                     .cpu_quota_us = "50000\n",
                     .cpu_period_us = "100000\n",
                     .cpu_stat = "nr_periods 3\nthrottled_time 2000000000\n"});
  EXPECT_EQ(limits.memory_bytes, 256u << 20);
  EXPECT_DOUBLE_EQ(limits.cpu_cores, 0.5);
  EXPECT_DOUBLE_EQ(limits.throttled_seconds, 2);
  const CgroupLimits none = ParseCgroupV1({.memory_stat = "hierarchical_memory_limit 9223372036854771712\n",
                                           .cpu_quota_us = "-1\n",
                                           .cpu_period_us = "100000\n",
                                           .cpu_stat = ""});
  EXPECT_EQ(none.memory_bytes, 0u);
  EXPECT_EQ(none.cpu_cores, 0);
}

TEST(CgroupTest, TheTighterLimitOfTwoLevelsHolds) {
  const CgroupLimits both =
      Tighter({.memory_bytes = 100, .cpu_cores = 0, .throttled_seconds = 1}, {.memory_bytes = 50, .cpu_cores = 2});
  EXPECT_EQ(both.memory_bytes, 50u);
  EXPECT_EQ(both.cpu_cores, 2);
  EXPECT_EQ(both.throttled_seconds, 1);
}

TEST(CgroupTest, UsageLeavesOutWhatTheKernelCanDrop) {
  const auto v2 = ParseCgroupV2Usage("usage_usec 1500000\nuser_usec 1\n", "1000\n", "anon 600\ninactive_file 300\n");
  ASSERT_TRUE(v2);
  EXPECT_DOUBLE_EQ(v2->cpu_seconds, 1.5);
  EXPECT_EQ(v2->memory_bytes, 700u);
  const auto v1 = ParseCgroupV1Usage("2500000000\n", "1000\n", "inactive_file 1\ntotal_inactive_file 2000\n");
  ASSERT_TRUE(v1);
  EXPECT_DOUBLE_EQ(v1->cpu_seconds, 2.5);
  EXPECT_EQ(v1->memory_bytes, 0u);
  EXPECT_FALSE(ParseCgroupV2Usage("", "1000", ""));
  EXPECT_FALSE(ParseCgroupV1Usage("1", "", ""));
}

TEST(KernelTextTest, ANumberIsWholeAndAlone) {
  EXPECT_EQ(ParseInteger<uint64_t>(" 42\n"), 42u);
  EXPECT_EQ(ParseInteger<int64_t>("-1\n"), -1);
  for (const char* text : {"", "\n", "max", "4 2", "42x", "-1", "99999999999999999999"})
    EXPECT_FALSE(ParseInteger<uint64_t>(text)) << text;
  EXPECT_EQ(NumberOfKey("a 1\nab 2\n", "ab"), 2u);
  EXPECT_FALSE(NumberOfKey("a 1\nab 2 3\n", "ab"));
}

// A file system of control groups made of recorded text.
class CgroupFilesTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) const { scratch_.Write(path, text); }

  const Scratch scratch_;
  const std::filesystem::path& mount_ = scratch_.path();
};

TEST_F(CgroupFilesTest, WithoutFilesThereIsNoLimitAndNoUsage) {
  EXPECT_TRUE(ReadCgroupPaths(mount_ / "absent").empty());
  EXPECT_FALSE(IsCgroupV2(mount_));
  const CgroupLimits limits = ReadCgroupLimits(mount_, {{"memory", "/a"}, {"cpu", "/a"}, {"", "/a"}});
  EXPECT_EQ(limits.memory_bytes, 0u);
  EXPECT_EQ(limits.cpu_cores, 0);
  EXPECT_FALSE(ReadPodCgroup(mount_, {{"", "/kubepods/pod1/c"}, {"memory", "/kubepods/pod1/c"}}));
  EXPECT_EQ(ReadOutOfMemoryKills(mount_), 0u);
}

TEST_F(CgroupFilesTest, TheLowestLimitOnTheWayToAGroupOfVersion2Counts) {
  Put("self", "12:memory:/x\n0::/a/b\n");
  const CgroupPaths paths = ReadCgroupPaths(mount_ / "self");
  for (const char* level : {"", "a/", "a/b/"}) Put(std::string(level) + "cgroup.controllers", "cpu memory\n");
  EXPECT_TRUE(IsCgroupV2(mount_));
  EXPECT_EQ(ReadCgroupLimits(mount_, paths).memory_bytes, 0u) << "no files of limits";
  Put("a/memory.max", "1000000\n");
  Put("a/b/memory.max", "max\n");
  Put("a/cpu.max", "150000 100000\n");
  Put("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(ReadCgroupLimits(mount_, paths).memory_bytes, 1000000u);
  EXPECT_DOUBLE_EQ(ReadCgroupLimits(mount_, paths).cpu_cores, 1.5);
  Put("a/b/memory.max", "500000\n");
  EXPECT_EQ(ReadCgroupLimits(mount_, paths).memory_bytes, 500000u);
  EXPECT_EQ(ReadCgroupLimits(mount_, {{"", "/a"}}).memory_bytes, 1000000u);
  EXPECT_EQ(ReadCgroupLimits(mount_, {{"", "/elsewhere"}}).memory_bytes, 0u);
}

TEST_F(CgroupFilesTest, AContainerSeesItsOwnGroupAtTheMount) {
  Put("cgroup.controllers", "cpu memory\n");
  Put("memory.max", "4096\n");
  EXPECT_EQ(ReadCgroupLimits(mount_, {{"", "/kubepods/pod1/c"}}).memory_bytes, 4096u);
}

TEST_F(CgroupFilesTest, LimitsOfVersion1AreThoseOfTheOwnGroup) {
  Put("memory/a/memory.stat", "hierarchical_memory_limit 1048576\n");
  Put("cpu/b/cpu.cfs_quota_us", "20000\n");
  Put("cpu/b/cpu.cfs_period_us", "10000\n");
  const CgroupLimits limits = ReadCgroupLimits(mount_, {{"memory", "/a"}, {"cpu", "/b"}});
  EXPECT_EQ(limits.memory_bytes, 1048576u);
  EXPECT_DOUBLE_EQ(limits.cpu_cores, 2);
}

TEST_F(CgroupFilesTest, UsageOfAPodIsThatOfTheLevelAboveTheContainer) {
  Put("cgroup.controllers", "cpu memory\n");
  Put("kubepods/pod1/cgroup.controllers", "cpu memory\n");
  Put("kubepods/pod1/cpu.stat", "usage_usec 1500000\n");
  Put("kubepods/pod1/memory.current", "1000\n");
  Put("kubepods/pod1/memory.stat", "inactive_file 300\n");
  Put("kubepods/pod1/memory.max", "2000\n");
  const auto pod = ReadPodCgroup(mount_, {{"", "/kubepods/pod1/sidecar"}});
  ASSERT_TRUE(pod);
  EXPECT_DOUBLE_EQ(pod->usage.cpu_seconds, 1.5);
  EXPECT_EQ(pod->usage.memory_bytes, 700u);
  EXPECT_EQ(pod->limits.memory_bytes, 2000u);
  EXPECT_FALSE(ReadPodCgroup(mount_, {{"", "/user.slice/pod1/sidecar"}})) << "no pod";
}

TEST_F(CgroupFilesTest, KillsForTheMemoryLimitAreCountedInBothVersions) {
  Put("one/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  Put("two/memory.events", "low 0\noom 4\noom_kill 1\noom_group_kill 0\n");
  EXPECT_EQ(ReadOutOfMemoryKills(mount_ / "one"), 3u);
  EXPECT_EQ(ReadOutOfMemoryKills(mount_ / "two"), 1u);
}

TEST_F(CgroupFilesTest, MemoryInUseIsKnownInBothVersions) {
  Put("one/memory.usage_in_bytes", "5000\n");
  Put("one/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
  Put("two/memory.current", "5000\n");
  Put("two/memory.stat", "inactive_file 9000\n");
  EXPECT_EQ(ReadMemoryInUse(mount_ / "one"), 4000u);
  EXPECT_EQ(ReadMemoryInUse(mount_ / "two"), 0u) << "the files are not read at the same moment";
  EXPECT_EQ(ReadMemoryInUse(mount_ / "none"), std::nullopt);
}

}  // namespace
}  // namespace attune::cgroup_test
