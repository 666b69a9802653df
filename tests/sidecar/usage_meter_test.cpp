#include "sidecar/usage_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace attune::sidecar::usage_meter_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::string Stat(int pid, int parent, int ticks, int pages, int start = 50) {
  return std::to_string(pid) + " (x) S " + std::to_string(parent) + " 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) +
         " 0 0 0 20 0 1 0 " + std::to_string(start) + " 0 " + std::to_string(pages) + " 0\n";
}

// A /proc and a cgroup file system made of recorded text.
class UsageMeterTest : public testing::Test {
 protected:
  UsageMeterTest() : root_(fs::path(testing::TempDir()) / ("usage_meter_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~UsageMeterTest() override { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  UsageMeter Meter() { return UsageMeter({.proc = root_ / "proc", .cgroup = root_ / "cgroup"}); }

  const fs::path root_;
  const double ticks_ = static_cast<double>(sysconf(_SC_CLK_TCK));
  const uint64_t page_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
};

TEST_F(UsageMeterTest, MeasuresTheProcessAndItsDescendantsBetweenTwoWindows) {
  Put("proc/10/stat", Stat(10, 1, 100, 50));
  Put("proc/10/task/10/children", "11 ");
  Put("proc/11/stat", Stat(11, 10, 200, 5));
  Put("proc/11/task/11/children", "");
  Put("proc/12/stat", Stat(12, 1, 9999, 9999));  // another process
  Put("proc/10/cgroup", "4:memory:/pod\n1:cpu:/pod\n");
  Put("cgroup/memory/pod/memory.stat", "hierarchical_memory_limit 1048576\n");
  Put("cgroup/cpu/pod/cpu.cfs_quota_us", "200000\n");
  Put("cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
  Put("proc/10/net/dev", "eth0: 100 1 0 0 0 0 0 0 1000 1 0 0 0 0 0 0\n");
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime(seconds(1)));
  Put("proc/10/net/dev", "eth0: 150 1 0 0 0 0 0 0 1007 1 0 0 0 0 0 0\n");
  Put("proc/11/stat", Stat(11, 10, 200 + static_cast<int>(ticks_), 7));
  const auto usage = meter.Measure(MonotonicTime(seconds(3)));
  ASSERT_TRUE(usage);
  EXPECT_DOUBLE_EQ(usage->cpu_seconds(), 1);
  EXPECT_DOUBLE_EQ(usage->window_seconds(), 2);
  EXPECT_EQ(usage->memory_bytes(), 57 * page_);
  EXPECT_EQ(usage->memory_limit_bytes(), 1048576u);
  EXPECT_DOUBLE_EQ(usage->cpu_limit_cores(), 2);
  EXPECT_EQ(usage->network_received_bytes(), 50u);
  EXPECT_EQ(usage->network_sent_bytes(), 7u);
}

TEST_F(UsageMeterTest, NetworkThatCouldNotBeReadOnceIsNoTraffic) {
  Put("proc/10/stat", Stat(10, 1, 0, 1));
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime{});
  Put("proc/10/net/dev", "eth0: 100 1 0 0 0 0 0 0 1000 1 0 0 0 0 0 0\n");
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->network_received_bytes(), 0u) << "all since the machine began";
}

TEST_F(UsageMeterTest, AnInterfaceThatGoesIsNoTraffic) {
  Put("proc/10/stat", Stat(10, 1, 0, 1));
  Put("proc/10/net/dev", "eth0: 100 1 0 0 0 0 0 0 1000 1 0 0 0 0 0 0\nnet1: 100 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n");
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime{});
  Put("proc/10/net/dev", "net1: 110 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n");
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->network_received_bytes(), 0u);
  EXPECT_EQ(usage->network_sent_bytes(), 0u);
}

TEST_F(UsageMeterTest, AResizeIsSeenInTheNextWindow) {
  Put("proc/10/stat", Stat(10, 1, 0, 1));
  Put("proc/10/cgroup", "4:memory:/pod\n1:cpu:/pod\n");
  const auto put = [&](const std::string& quota, const std::string& memory, const std::string& throttled) {
    Put("cgroup/memory/pod/memory.stat", "hierarchical_memory_limit " + memory + "\n");
    Put("cgroup/cpu/pod/cpu.cfs_quota_us", quota + "\n");
    Put("cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
    Put("cgroup/cpu/pod/cpu.stat", "nr_throttled 1\nthrottled_time " + throttled + "\n");
  };
  put("20000", "1048576", "5000000000");
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime{});
  put("20000", "1048576", "5500000000");
  auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_DOUBLE_EQ(usage->cpu_limit_cores(), 0.2);
  EXPECT_DOUBLE_EQ(usage->throttled_seconds(), 0.5);
  put("60000", "2097152", "5600000000");
  usage = meter.Measure(MonotonicTime(seconds(2)));
  ASSERT_TRUE(usage);
  EXPECT_DOUBLE_EQ(usage->cpu_limit_cores(), 0.6);
  EXPECT_EQ(usage->memory_limit_bytes(), 2097152u);
  EXPECT_NEAR(usage->throttled_seconds(), 0.1, 1e-9);
}

TEST_F(UsageMeterTest, LooksThroughAllProcessesWhereTheKernelKeepsNoListOfChildren) {
  Put("proc/10/stat", Stat(10, 1, 0, 1));
  Put("proc/11/stat", Stat(11, 10, 0, 2));
  Put("proc/meminfo", "");
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime{});
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->memory_bytes(), 3 * page_);
}

TEST_F(UsageMeterTest, TheTightestLevelOfVersion2Counts) {
  Put("proc/10/stat", Stat(10, 1, 0, 1));
  Put("proc/10/cgroup", "0::/pod/container\n");
  Put("cgroup/cgroup.controllers", "cpu memory\n");
  Put("cgroup/pod/cgroup.controllers", "cpu memory\n");
  Put("cgroup/pod/memory.max", "4096\n");
  Put("cgroup/pod/container/cgroup.controllers", "cpu memory\n");
  Put("cgroup/pod/container/memory.max", "max\n");
  Put("cgroup/pod/container/cpu.max", "50000 100000\n");
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime{});
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->memory_limit_bytes(), 4096u);
  EXPECT_DOUBLE_EQ(usage->cpu_limit_cores(), 0.5);
}

TEST_F(UsageMeterTest, APeerOfAnotherProcessNamespaceIsMeasuredByThePodsCgroup) {
  Put("proc/self/cgroup",
      "4:memory:/kubepods/pod1/sidecar\n2:cpuacct:/kubepods/pod1/sidecar\n1:cpu:/kubepods/pod1/sidecar\n");
  Put("cgroup/cpuacct/kubepods/pod1/cpuacct.usage", "1000000000\n");
  Put("cgroup/memory/kubepods/pod1/memory.usage_in_bytes", "8192\n");
  Put("cgroup/memory/kubepods/pod1/memory.stat", "hierarchical_memory_limit 16384\ntotal_inactive_file 4096\n");
  UsageMeter meter = Meter();
  meter.Watch(0, MonotonicTime{});
  Put("cgroup/cpuacct/kubepods/pod1/cpuacct.usage", "1500000000\n");
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_DOUBLE_EQ(usage->cpu_seconds(), 0.5);
  EXPECT_EQ(usage->memory_bytes(), 4096u);
  EXPECT_EQ(usage->memory_limit_bytes(), 16384u);
}

TEST_F(UsageMeterTest, NothingReadableMeansNoUsage) {
  UsageMeter meter = Meter();
  meter.Watch(0, MonotonicTime{});
  EXPECT_FALSE(meter.Measure(MonotonicTime(seconds(1))));
  meter.Watch(77, MonotonicTime{});
  EXPECT_FALSE(meter.Measure(MonotonicTime(seconds(1))));
}

TEST_F(UsageMeterTest, ALaterProcessOfTheSameNumberDoesNotInheritTheOldOnesTicks) {
  Put("proc/10/stat", Stat(10, 1, 5000, 1, 50));
  UsageMeter meter = Meter();
  meter.Watch(10, MonotonicTime{});
  Put("proc/10/stat", Stat(10, 1, 9000, 1, 51));
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu_seconds(), 0);
}

TEST(UsageMeterRealTest, MeasuresThisVeryProcess) {
  UsageMeter meter;
  meter.Watch(getpid(), MonotonicTime{});
  const clock_t begin = clock();
  volatile uint64_t sink = 0;
  while (clock() - begin < CLOCKS_PER_SEC / 5) sink = sink + 1;  // CPU time, not a wait
  const auto usage = meter.Measure(MonotonicTime(seconds(1)));
  ASSERT_TRUE(usage);
  EXPECT_GE(usage->cpu_seconds(), 0.15);
  EXPECT_GT(usage->memory_bytes(), 1u << 20);
}

}  // namespace
}  // namespace attune::sidecar::usage_meter_test
