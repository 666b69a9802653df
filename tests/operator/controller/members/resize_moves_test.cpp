// A pod whose machine has no room for the size that is asked for, as stories over FakeCluster.
#include "operator/controller/members/resize_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/members/move.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::resize_moves_test {
namespace {

using kube::Json;
using testing::HasSubstr;

constexpr double kBytes = 1e11;

scheduler::Machine Machine(const std::string& name, double cores) {
  return {name, {.cpu_cores = cores, .memory_bytes = kBytes}};
}

// Two workers of one core each on node-1, which are to have six; node-2 has `cores` left.
FakeCluster AskedForMore(double cores, api::TuningMode mode = api::TuningMode::kOff) {
  Json container = {{"name", "worker"}, {"image", "example"}, {"resources", {{"limits", {{"cpu", "1"}}}}}};
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(2).Tuning(mode).WorkerTemplate(
      {{"spec", {{"containers", Json::array({container})}}}}));
  for (const std::string& name : cluster.PodNames()) cluster.GiveResources(name);
  cluster.machines = {Machine("node-1", 2), Machine("node-2", cores)};
  cluster.nodes = {{"node-1", {}}, {"node-2", {}}};
  cluster.job().spec.workers.resources.cpu.target = 6000;
  ++cluster.job().generation;
  cluster.Settle();
  return cluster;
}

void Answer(FakeCluster& cluster, const std::string& pod, const char* answer) {
  cluster.SayOfResize(pod, "PodResizePending", answer, "Node didn't have enough resource: cpu");
  cluster.Settle();
}

std::string MoveState(const FakeCluster& cluster) {
  const auto& move = cluster.status().move;
  return move ? move->state + ": " + move->message : "";
}

TEST(ResizeMovesTest, ASizeThatNeverFitsIsGivenOnAnotherMachine) {
  FakeCluster cluster = AskedForMore(8);
  EXPECT_EQ(MoveState(cluster), "") << "its machine has not answered";
  Answer(cluster, "a-worker-1", "Infeasible");
  EXPECT_THAT(MoveState(cluster),
              HasSubstr("Moving: a-worker-1 moves from node-1 to node-2, because cpu 6 has no room on"));
  ASSERT_TRUE(cluster.Has("a-worker-2"));
  EXPECT_THAT(cluster.pod("a-worker-2")["spec"]["containers"].dump(), HasSubstr(R"("cpu":"6")"));
}

TEST(ResizeMovesTest, OneThatWaitsForRoomHasAMinute) {
  FakeCluster cluster = AskedForMore(8);
  Answer(cluster, "a-worker-1", "Deferred");
  EXPECT_EQ(MoveState(cluster), "");
  cluster.Advance(kRoomWait);
  cluster.Settle();
  EXPECT_THAT(MoveState(cluster), HasSubstr("Moving: a-worker-1 moves from node-1 to node-2"));
}

TEST(ResizeMovesTest, OneOfWhichItIsNotKnownSinceWhenItWaitsStays) {
  FakeCluster cluster = AskedForMore(8);
  Answer(cluster, "a-worker-1", "Deferred");
  for (Json& condition : cluster.pod("a-worker-1")["status"]["conditions"]) condition.erase("lastTransitionTime");
  cluster.Advance(2 * kRoomWait);
  cluster.Settle();
  EXPECT_EQ(MoveState(cluster), "");
}

TEST(ResizeMovesTest, ThePodStaysWhereNothingBetterIs) {
  struct Case {
    const char* name;
    double cores;
    api::TuningMode mode;
    bool missing = false;
  };
  const Case cases[] = {
      {"no machine has room", 5, api::TuningMode::kOff},
      {"pods may not be made", 8, api::TuningMode::kInPlaceOnly},
      {"the tuner asks for less", 8, api::TuningMode::kAuto},
      {"a pod is missing", 8, api::TuningMode::kOff, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeCluster cluster = AskedForMore(c.cores, c.mode);
    if (c.missing) cluster.job().spec.workers.replicas = 3;
    Answer(cluster, "a-worker-1", "Infeasible");
    EXPECT_EQ(MoveState(cluster), "");
  }
}

TEST(ResizeMovesTest, WhatWasGivenUpIsNotAskedForAgainAtOnce) {
  FakeCluster cluster = AskedForMore(8);
  Answer(cluster, "a-worker-1", "Infeasible");
  ASSERT_TRUE(cluster.status().move);
  const std::string first = cluster.status().move->request;
  cluster.Advance(cluster.options.worker_move_timeout);
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->state, api::kMoveGivenUp);
  cluster.Advance(std::chrono::minutes(1));
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->request, first);
  cluster.Advance(kMoveRetry);
  cluster.Settle();
  EXPECT_NE(cluster.status().move->request, first) << "there may be room by now";
}

}  // namespace
}  // namespace attune::controller::resize_moves_test
