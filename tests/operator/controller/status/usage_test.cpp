// What the status says of CPU and memory that pods use.
#include "operator/controller/status/telemetry/usage.h"

#include <gtest/gtest.h>

#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::usage_test {
namespace {

using std::chrono::seconds;

constexpr uint64_t kMebibyte = 1 << 20;

void Report(FakeCluster& cluster, const std::string& pod, double cores, double limit, double throttled, uint64_t memory,
            uint64_t memory_limit) {
  cluster.Connect(pod);
  v1::ProcessUsage& usage = cluster.sample.pods.back().usage;
  usage.set_window_seconds(2);
  usage.set_cpu_seconds(2 * cores);
  usage.set_cpu_limit_cores(limit);
  usage.set_throttled_seconds(2 * throttled);
  usage.set_memory_bytes(memory * kMebibyte);
  usage.set_memory_limit_bytes(memory_limit * kMebibyte);
}

TEST(UsageTest, MeansOfCpuAndTheFullestPod) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(2));
  EXPECT_FALSE(UsageOf(cluster.Observe(), RoleName::kWorker, cluster.now())) << "nothing was reported";
  Report(cluster, "a-worker-0", 0.5, 1, 0.25, 400, 1024);
  Report(cluster, "a-worker-1", 0.9, 1, 0.75, 300, 512);
  Report(cluster, "a-server-0", 0.2, 0, 0, 90, 0);
  const auto workers = UsageOf(cluster.Observe(), RoleName::kWorker, cluster.now());
  ASSERT_TRUE(workers);
  EXPECT_EQ(*workers, (api::RoleUsage{.cpu_cores = 0.7,
                                      .cpu_limit_cores = 1,
                                      .throttled = 0.5,
                                      .fullest = "a-worker-1",
                                      .memory_bytes = 300 * kMebibyte,
                                      .memory_limit_bytes = 512 * kMebibyte}));
  const auto servers = UsageOf(cluster.Observe(), RoleName::kServer, cluster.now());
  ASSERT_TRUE(servers);
  EXPECT_EQ(servers->cpu_limit_cores, 0);
  EXPECT_EQ(servers->memory_limit_bytes, 0);
  EXPECT_EQ(servers->fullest, "a-server-0");
}

TEST(UsageTest, AnOldReportAndAnEndedPodSayNothing) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(2));
  Report(cluster, "a-worker-0", 0.5, 1, 0, 400, 1024);
  cluster.Advance(seconds(20));
  EXPECT_FALSE(UsageOf(cluster.Observe(), RoleName::kWorker, cluster.now()));
  Report(cluster, "a-worker-0", 0.5, 1, 0, 400, 1024);
  cluster.Settle();
  EXPECT_TRUE(cluster.status().workers.usage);
  cluster.Exit("a-worker-0", 1);
  EXPECT_FALSE(UsageOf(cluster.Observe(), RoleName::kWorker, cluster.now()));
}

}  // namespace
}  // namespace attune::controller::usage_test
