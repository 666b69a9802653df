// Traces are shaped like recorded ones: values of real runs with their noise, a fault in the middle.
#include "operator/tuner/detectors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace attune::tuner::detectors_test {
namespace {

constexpr int kWindows = 12;

NodeTrace Trace(Random& random, const NodeWindow& usual, int windows = kWindows) {
  NodeTrace trace;
  for (int i = 0; i < windows; ++i) {
    NodeWindow window = usual;
    window.time = 10.0 * i;
    window.cpu *= 1 + 0.03 * random.Normal();
    window.memory *= 1 + 0.005 * random.Normal();
    window.requests *= 1 + 0.05 * random.Normal();
    window.step_seconds *= 1 + 0.06 * random.Normal();
    trace.push_back(window);
  }
  return trace;
}

const NodeWindow kServer{.cpu = 0.45, .memory = 0.4, .requests = 9000};
const NodeWindow kWorker{.cpu = 0.9, .memory = 0.3, .step_seconds = 0.05, .wait_share = 0.25};

TEST(DetectorsTest, HealthyTracesRaiseNothing) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    std::vector<NodeTrace> servers, workers;
    for (int i = 0; i < 4; ++i) servers.push_back(Trace(random, kServer));
    for (int i = 0; i < 8; ++i) workers.push_back(Trace(random, kWorker));
    EXPECT_TRUE(DetectHotServers(servers).empty()) << seed;
    EXPECT_TRUE(DetectStragglers(workers).empty()) << seed;
    EXPECT_TRUE(DetectMemoryLimit(servers, true).empty()) << seed;
    EXPECT_TRUE(DetectMemoryLimit(workers, false).empty()) << seed;
    EXPECT_FALSE(DetectStarvedWorkers(workers, servers).has_value()) << seed;
  }
}

TEST(DetectorsTest, AHotServerAsksForItsRowsToMove) {
  Random random(1);
  std::vector<NodeTrace> servers = {
      Trace(random, kServer), Trace(random, {.cpu = 0.98, .memory = 0.4, .requests = 24000}), Trace(random, kServer)};
  const auto findings = DetectHotServers(servers);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, 1);
  EXPECT_EQ(findings[0].remedy, Remedy::kRelocateRows);
  EXPECT_NEAR(findings[0].value, 24.0 / 9, 0.3);
  servers[1].back().cpu = 0.4;  // it has calmed down
  EXPECT_TRUE(DetectHotServers(servers).empty());
}

TEST(DetectorsTest, AllServersBusyAskForOneMore) {
  Random random(2);
  const NodeWindow busy{.cpu = 0.97, .memory = 0.4, .requests = 20000};
  const std::vector<NodeTrace> servers = {Trace(random, busy), Trace(random, busy)};
  const auto findings = DetectHotServers(servers);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].remedy, Remedy::kMoreServers);
  EXPECT_EQ(findings[0].node, -1);
}

TEST(DetectorsTest, AStragglerIsMovedOnceItIsSlowForLong) {
  Random random(3);
  std::vector<NodeTrace> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(Trace(random, kWorker));
  workers[2].back().step_seconds = 0.2;
  EXPECT_TRUE(DetectStragglers(workers).empty()) << "one slow window is chance";
  for (NodeWindow& window : workers[2]) window.step_seconds *= 2.2;
  const auto findings = DetectStragglers(workers);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, 2);
  EXPECT_EQ(findings[0].remedy, Remedy::kMovePod);
  // Of two workers, the slower one is found too.
  const std::vector<NodeTrace> two = {workers[0], workers[2]};
  ASSERT_EQ(DetectStragglers(two).size(), 1U);
  EXPECT_EQ(DetectStragglers(two)[0].node, 1);
}

TEST(DetectorsTest, MemoryThatGrowsTowardsItsLimitIsSeenBeforeItGetsThere) {
  Random random(4);
  NodeTrace growing = Trace(random, kServer);
  for (size_t i = 0; i < growing.size(); ++i)
    growing[i].memory = 0.6 + 0.01 * static_cast<double>(i) + 0.002 * random.Normal();
  const std::vector<NodeTrace> servers = {Trace(random, kServer), growing};
  const auto findings = DetectMemoryLimit(servers, true);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].node, 1);
  EXPECT_EQ(findings[0].remedy, Remedy::kMoreServers);
  EXPECT_NEAR(findings[0].value, 290, 60) << "seconds until 100 %";
  const std::vector<NodeTrace> workers = {Trace(random, {.memory = 0.99})};
  ASSERT_EQ(DetectMemoryLimit(workers, false).size(), 1U);
  EXPECT_EQ(DetectMemoryLimit(workers, false)[0].remedy, Remedy::kMorePodMemory);
}

TEST(DetectorsTest, StarvedWorkersAskForServersOnlyWhenServersAreTheReason) {
  Random random(5);
  NodeWindow waiting = kWorker;
  waiting.wait_share = 0.8;
  const std::vector<NodeTrace> workers = {Trace(random, waiting), Trace(random, waiting), Trace(random, kWorker)};
  const std::vector<NodeTrace> busy = {Trace(random, {.cpu = 0.9, .requests = 9000})};
  const std::vector<NodeTrace> idle = {Trace(random, kServer)};
  ASSERT_TRUE(DetectStarvedWorkers(workers, busy).has_value());
  EXPECT_EQ(DetectStarvedWorkers(workers, busy)->remedy, Remedy::kMoreServers);
  EXPECT_EQ(DetectStarvedWorkers(workers, idle)->remedy, Remedy::kTellUser);
}

TEST(DetectorsTest, AStalledLossIsToldFromASlowOne) {
  int stalled = 0, slow = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    std::vector<double> flat, falling;
    for (int i = 0; i < 120; ++i) {
      flat.push_back((i < 60 ? 2.0 - i / 60.0 : 1.0) * (1 + 0.03 * random.Normal()));
      falling.push_back(2 * std::exp(-i / 100.0) * (1 + 0.03 * random.Normal()));
    }
    stalled += DetectStalledLoss(flat).has_value() ? 1 : 0;
    slow += DetectStalledLoss(falling).has_value() ? 1 : 0;
  }
  EXPECT_GE(stalled, 34);
  EXPECT_LE(slow, 2);
  EXPECT_FALSE(DetectStalledLoss(std::vector<double>(200, 1.0)).has_value()) << "it never fell";
  EXPECT_FALSE(DetectStalledLoss(std::vector<double>(10, 1.0)).has_value());
}

TEST(DetectorsTest, ALossThatIsNoNumberOrExplodesEndsTheExperiment) {
  const std::vector<double> nan = {2.1, 1.9, std::nan("")};
  ASSERT_TRUE(DetectNotANumber(nan).has_value());
  EXPECT_EQ(DetectNotANumber(nan)->remedy, Remedy::kCheckpointStop);
  EXPECT_TRUE(DetectNotANumber(std::vector<double>{2, 1, 30, 40, 80}).has_value());
  EXPECT_FALSE(DetectNotANumber(std::vector<double>{2, 1, 30, 1.1, 1}).has_value()) << "one spike passes";
}

}  // namespace
}  // namespace attune::tuner::detectors_test
