#include "examples/package-graph/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/os/file.h"
#include "tests/examples/local_session.h"
#include "tests/examples/package-graph/small_lists.h"
#include "tests/scratch.h"

namespace attune::package_graph::worker_test {
namespace {

using testing::HasSubstr;

class PackageGraphWorker : public testing::Test {
 protected:
  void SetUp() override {
    ps::World() = {};
    ps::World().model_directory = model_.path();
    ps::World().epochs = 30;
    lists_.Write("small_Packages", SmallList());
    flags_.graph = {.lists = {lists_.path()}, .links_min = 2, .held_out_percent = 10};
    flags_.batch = {.links = 64, .negatives = 32};
    flags_.dim = 16;
    flags_.packages = {"program3"};
  }
  Scratch lists_, model_;
  Flags flags_;
};

TEST_F(PackageGraphWorker, TrainsEveryItemOncePerEpochEvaluatesAndReports) {
  const Status status = RunWorker(flags_);
  ASSERT_TRUE(status.ok()) << status;
  const ps::LocalSessionWorld& world = ps::World();
  const auto graph = LoadGraph(flags_.graph);
  const size_t items = (graph->training.size() + 63) / 64;
  EXPECT_EQ(world.items_done.at("train"), std::vector<int>(items, 30));
  EXPECT_EQ(world.samples, graph->training.size() * 30);
  EXPECT_EQ(world.items_done.at("evaluate"), std::vector<int>(1, 1));
  EXPECT_EQ(world.rows.at("entity"), graph->size());
  EXPECT_EQ(world.rows.at("relation"), kRelations);
  EXPECT_NEAR(world.losses.front(), std::log(33.0), 0.1) << "knows nothing of 33 candidates";
  EXPECT_LT(world.losses.back(), world.losses.front() / 2);
  ASSERT_TRUE(world.result);
  EXPECT_GT(world.result->metrics.at("mrr"), 1.5 * world.result->metrics.at("popularity_mrr"));
  EXPECT_THAT(world.result->summary, HasSubstr("program3 recommends: "));
  EXPECT_EQ(std::count(world.result->summary.begin(), world.result->summary.end(), '\0'), 0);
  const std::string names = *ReadFile(model_.path() / "names.txt");
  EXPECT_EQ(static_cast<size_t>(std::count(names.begin(), names.end(), '\n')), graph->size());
}

TEST_F(PackageGraphWorker, LearnsWithEveryWayToDrawNegatives) {
  for (const ps::SamplingMode mode : {ps::SamplingMode::kPool, ps::SamplingMode::kLocal}) {
    SetUp();
    flags_.sampling = mode;
    const Status status = RunWorker(flags_);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(ps::World().result);
    const auto& metrics = ps::World().result->metrics;
    EXPECT_GT(metrics.at("mrr"), 1.5 * metrics.at("popularity_mrr"));
    EXPECT_EQ(metrics.at("sampling_total_variation"), 0) << "no row is ever at hand here";
  }
}

TEST_F(PackageGraphWorker, ATraceHasALineForEveryStep) {
  ps::World().epochs = 2;
  const Scratch trace;
  flags_.trace = trace.path();
  ASSERT_TRUE(RunWorker(flags_).ok());
  const auto file = *std::filesystem::directory_iterator(trace.path());
  const std::string lines = *ReadFile(file.path());
  EXPECT_EQ(static_cast<uint64_t>(std::count(lines.begin(), lines.end(), '\n')), ps::World().steps);
  uint64_t time = 0, samples = 0;
  double loss = 0;
  ASSERT_EQ(std::sscanf(lines.c_str(), "%lu %lf %lu\n", &time, &loss, &samples), 3);
  EXPECT_NEAR(loss, ps::World().losses.front(), 1e-4);
  EXPECT_EQ(samples, flags_.batch.links);
}

TEST_F(PackageGraphWorker, AskedToLeaveItHandsBackWhatItDidNotDo) {
  ps::World().lease_items = 1;  // nothing to fetch ahead
  ps::World().drain_after_steps = 5;
  EXPECT_TRUE(RunWorker(flags_).ok());
  const auto& done = ps::World().items_done.at("train");
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 5);
  EXPECT_FALSE(ps::World().result) << "a leaving worker does not evaluate";
}

TEST_F(PackageGraphWorker, ALostServerOrMissingListsEndItWithThatMessage) {
  ps::World().fail_pulls_after = 11;
  EXPECT_EQ(Message(RunWorker(flags_)), "server 0 is away");
  flags_.graph.lists = {model_.path()};
  EXPECT_THAT(std::string(Message(RunWorker(flags_))), HasSubstr("no package list"));
}

}  // namespace
}  // namespace attune::package_graph::worker_test
