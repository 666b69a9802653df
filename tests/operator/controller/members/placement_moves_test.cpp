// Which pod goes where so that spec.placement comes true: tables of single moves, jobs placed at random that must come
// to rest, and stories of a running job.
#include "operator/controller/members/placement_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <ranges>
#include <set>

#include "operator/controller/members/move.h"
#include "tests/base/seeds.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::placement_moves_test {
namespace {

using api::ServerPlacement;
using api::WorkerPlacement;
using testing::HasSubstr;

ObservedPod Pod(RoleName role, int32_t index, const std::string& node) {
  ObservedPod pod;
  pod.name = PodName("a", role, index);
  pod.uid = pod.name;
  pod.job_uid = "uid-a";
  pod.role = role;
  pod.index = index;
  pod.phase = PodPhase::kRunning;
  pod.ready = pod.scheduled = true;
  pod.held = true;
  pod.node = node;
  pod.container.state = RoleContainer::State::kRunning;
  pod.requests = {.cpu_cores = 1, .memory_bytes = 1e9};
  return pod;
}

scheduler::Machine Room(const std::string& name, double cores) {
  return {name, {.cpu_cores = cores, .memory_bytes = 1e10}};
}

// "1 2 2" servers and "1 1" workers: on node-1, node-2, node-2 and on node-1, node-1.
Observed Placed(const std::vector<int>& servers, const std::vector<int>& workers) {
  Observed observed;
  observed.job.name = "a";
  observed.job.uid = "uid-a";
  observed.job.status.coordinator = "a-server-0";
  const auto add = [&](RoleName role, const std::vector<int>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      observed.pods.push_back(Pod(role, static_cast<int32_t>(i), "node-" + std::to_string(nodes[i])));
    }
  };
  add(RoleName::kServer, servers);
  add(RoleName::kWorker, workers);
  return observed;
}

MoveFacts Elastic(const Observed& observed) {
  MoveFacts facts{.begun = true, .elastic = true, .serving = {}};
  for (const ObservedPod& pod : observed.pods) facts.servers += IsServerOf(observed, pod) ? 1 : 0;
  return facts;
}

std::string TextOf(const std::optional<PlacementMove>& move) {
  return move ? move->pod->name + " to " + move->to : "none";
}

TEST(PlacementMovesTest, OneMoveAtATime) {
  constexpr auto kAnyServers = ServerPlacement::kAny;
  constexpr auto kAnyWorkers = WorkerPlacement::kAny;
  struct Case {
    const char* name;
    std::vector<int> servers, workers;
    ServerPlacement server_rule;
    WorkerPlacement worker_rule;
    std::map<int, double> room;  // cores that are free; none: machines are not known
    const char* want;
  };
  const Case cases[] = {
      {"nothing is asked for", {1, 1, 1}, {2, 2}, kAnyServers, kAnyWorkers, {{1, 8}, {2, 8}}, "none"},
      {"servers far from workers, the coordinator's last",
       {1, 1},
       {2, 2},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 8}},
       "a-server-1 to node-2"},
      {"the coordinator's when it is the only one",
       {1, 2},
       {2, 2},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 8}},
       "a-server-0 to node-2"},
      {"servers with workers already",
       {1, 2},
       {2, 1},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 8}},
       "none"},
      {"to where most workers are for each server",
       {1, 2, 3},
       {2, 3, 3, 3},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 8}, {3, 8}},
       "a-server-0 to node-3"},
      {"no room beside the workers",
       {1, 1},
       {2, 2},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 0.5}},
       "none"},
      {"the next best machine has room",
       {1, 1},
       {2, 3},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 0.5}, {3, 8}},
       "a-server-1 to node-3"},
      {"machines that are not known may have room",
       {1, 1},
       {2, 2},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {},
       "a-server-1 to node-2"},
      {"the only server goes, too",
       {1},
       {2, 2},
       ServerPlacement::kWithWorkers,
       kAnyWorkers,
       {{1, 8}, {2, 8}},
       "a-server-0 to node-2"},
      {"workers are spread",
       {1},
       {1, 1, 1},
       kAnyServers,
       WorkerPlacement::kSpread,
       {{1, 8}, {2, 8}},
       "a-worker-2 to node-2"},
      {"two and one are even enough", {1}, {1, 1, 2}, kAnyServers, WorkerPlacement::kSpread, {{1, 8}, {2, 8}}, "none"},
      {"a full machine is none to spread to",
       {1},
       {1, 1, 1},
       kAnyServers,
       WorkerPlacement::kSpread,
       {{1, 8}, {2, 0.5}},
       "none"},
      {"spreading needs to know machines", {1}, {1, 1, 1}, kAnyServers, WorkerPlacement::kSpread, {}, "none"},
      {"servers are spread",
       {1, 1},
       {1},
       ServerPlacement::kSpread,
       kAnyWorkers,
       {{1, 8}, {2, 8}},
       "a-server-1 to node-2"},
      {"workers are packed to where most pods are",
       {1, 1},
       {1, 2},
       kAnyServers,
       WorkerPlacement::kPack,
       {{1, 8}, {2, 8}},
       "a-worker-1 to node-1"},
      {"of two equal machines the first by name",
       {1},
       {2},
       kAnyServers,
       WorkerPlacement::kPack,
       {{1, 8}, {2, 8}},
       "a-worker-0 to node-1"},
      {"a full machine takes no more",
       {1, 1},
       {1, 2, 3},
       kAnyServers,
       WorkerPlacement::kPack,
       {{1, 0.5}, {2, 8}, {3, 8}},
       "a-worker-2 to node-2"},
      {"all are packed", {2, 2}, {2, 2}, ServerPlacement::kPack, WorkerPlacement::kPack, {{1, 8}, {2, 8}}, "none"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Observed observed = Placed(c.servers, c.workers);
    if (!c.room.empty()) observed.machines.emplace();
    for (const auto& [node, cores] : c.room) observed.machines->push_back(Room("node-" + std::to_string(node), cores));
    const auto move =
        NextPlacementMove(observed, {.servers = c.server_rule, .workers = c.worker_rule}, Elastic(observed));
    EXPECT_EQ(TextOf(move), c.want);
  }
}

TEST(PlacementMovesTest, TheReasonNamesTheFieldAndWhatIsAmiss) {
  const Observed observed = Placed({1, 1}, {2, 2});
  const auto move = NextPlacementMove(observed, {.servers = ServerPlacement::kWithWorkers}, Elastic(observed));
  ASSERT_TRUE(move);
  EXPECT_EQ(move->why, "spec.placement.servers is WithWorkers: no worker runs on node-1, 2 on node-2");
}

TEST(PlacementMovesTest, ServersThatCannotLeaveStay) {
  const Observed observed = Placed({1, 1}, {2, 2});
  MoveFacts facts = Elastic(observed);
  facts.elastic = false;
  EXPECT_EQ(TextOf(NextPlacementMove(observed, {.servers = ServerPlacement::kWithWorkers}, facts)), "none");
}

// Whatever the rules and the room: moves end, no pod comes back to where it was, and what was asked for holds then as
// far as there is room.
TEST(PlacementMovesTest, EveryJobComesToRest) {
  ForSeeds(500, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const int machines = draw(1, 6);
    const auto nodes = [&](int count) {
      std::vector<int> each;
      for (int i = 0; i < count; ++i) each.push_back(draw(1, machines));
      return each;
    };
    Observed observed = Placed(nodes(draw(2, 6)), nodes(draw(1, 10)));
    observed.machines.emplace();
    const bool roomy = draw(0, 1) == 1;
    for (int i = 1; i <= machines; ++i) {
      observed.machines->push_back(Room("node-" + std::to_string(i), roomy ? 100 : draw(0, 4)));
    }
    const api::Placement rules{.servers = static_cast<ServerPlacement>(draw(0, 3)),
                               .workers = static_cast<WorkerPlacement>(draw(0, 2))};
    std::cout << "seed " << seed << ": " << machines << " machines, " << observed.pods.size() << " pods, rules "
              << static_cast<int>(rules.servers) << " " << static_cast<int>(rules.workers) << (roomy ? ", roomy" : "")
              << "\n";
    const auto machine = [&](const std::string& name) -> scheduler::Machine& {
      return *std::ranges::find(*observed.machines, name, &scheduler::Machine::name);
    };
    std::set<std::vector<std::string>> seen;
    while (const auto move = NextPlacementMove(observed, rules, Elastic(observed))) {
      auto& pod = observed.pods[static_cast<size_t>(move->pod - observed.pods.data())];
      ASSERT_NE(pod.node, move->to);
      ASSERT_GE(machine(move->to).free.cpu_cores, pod.requests.cpu_cores);
      machine(pod.node).free.cpu_cores += pod.requests.cpu_cores;
      machine(move->to).free.cpu_cores -= pod.requests.cpu_cores;
      pod.node = move->to;
      std::vector<std::string> placed;
      for (const ObservedPod& each : observed.pods) placed.push_back(each.node);
      ASSERT_TRUE(seen.insert(placed).second) << "the job is where it was before";
    }
    if (!roomy) return;
    std::map<std::string, int> servers, workers, all;
    for (int i = 1; i <= machines; ++i) servers["node-" + std::to_string(i)] = workers["node-" + std::to_string(i)] = 0;
    for (const ObservedPod& pod : observed.pods) {
      ++(pod.role == RoleName::kServer ? servers : workers)[pod.node];
      ++all[pod.node];
    }
    const auto gap = [](const std::map<std::string, int>& on) {
      const auto [least, most] = std::ranges::minmax(on | std::views::values);
      return most - least;
    };
    if (rules.servers == ServerPlacement::kSpread) {
      EXPECT_LE(gap(servers), 1);
    }
    if (rules.workers == WorkerPlacement::kSpread) {
      EXPECT_LE(gap(workers), 1);
    }
    if (rules.servers == ServerPlacement::kPack && rules.workers == WorkerPlacement::kPack) {
      EXPECT_EQ(all.size(), 1U);
    }
    if (rules.servers != ServerPlacement::kWithWorkers) return;
    for (const auto& [node, count] : servers) {
      EXPECT_TRUE(count == 0 || workers[node] > 0) << node;
    }
  });
}

// --- stories

// Two servers on node-1, two workers on node-2.
FakeCluster Apart() {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(2));
  cluster.pod("a-worker-0")["spec"]["nodeName"] = cluster.pod("a-worker-1")["spec"]["nodeName"] = "node-2";
  cluster.machines = {Room("node-1", 8), Room("node-2", 8)};
  cluster.nodes = {{"node-1", {}}, {"node-2", {}}};
  return cluster;
}

TEST(PlacementStoryTest, APodThatIsElsewhereIsMovedOnceTheSpecSaysSo) {
  FakeCluster cluster = Apart();
  cluster.Settle();
  EXPECT_FALSE(cluster.status().move) << "nothing was asked for";
  cluster.job().spec.placement.servers = ServerPlacement::kWithWorkers;
  cluster.Settle();
  ASSERT_TRUE(cluster.status().move);
  EXPECT_EQ(cluster.status().move->state, api::kMoving);
  EXPECT_EQ(cluster.status().move->pod, "a-server-1");
  EXPECT_EQ(cluster.status().move->to, "node-2");
  EXPECT_THAT(cluster.status().move->message, HasSubstr("because spec.placement.servers is WithWorkers"));
}

TEST(PlacementStoryTest, WhatWasGivenUpIsNotAskedForAgainAtOnce) {
  FakeCluster cluster = Apart();
  cluster.job().spec.placement.workers = WorkerPlacement::kPack;
  cluster.Settle();
  ASSERT_TRUE(cluster.status().move);
  const std::string first = cluster.status().move->request;
  cluster.Advance(cluster.options.worker_move_timeout);
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->state, api::kMoveGivenUp);
  EXPECT_EQ(cluster.status().move->request, first);
  cluster.Advance(kMoveRetry);
  cluster.Settle();
  EXPECT_NE(cluster.status().move->request, first) << "there may be room by now";
}

TEST(PlacementStoryTest, NothingMovesWhileAPodIsMissing) {
  FakeCluster cluster = Apart();
  cluster.job().spec.workers.replicas = 3;
  cluster.job().spec.placement.servers = ServerPlacement::kWithWorkers;
  cluster.Settle();
  EXPECT_FALSE(cluster.status().move);
}

}  // namespace
}  // namespace attune::controller::placement_moves_test
