// A pod that is to work on another machine, as stories over FakeCluster: the request, each step, each way it can go
// wrong, and an operator that dies after every single act.
#include "operator/controller/members/move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "operator/controller/members/slow_workers.h"
#include "tests/operator/controller/members/two_machines.h"

namespace attune::controller::move_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(MoveRequestTest, IsALineOfWords) {
  struct Case {
    const char* text;
    std::optional<MoveRequest> want;
  };
  const Case cases[] = {
      {"worker-1", MoveRequest{"worker-1", "", ""}},
      {"  worker-1\t to=node-2 ", MoveRequest{"worker-1", "node-2", ""}},
      {"a-server-0 to=node-2 id=7 why=its machine is to=crowded",
       MoveRequest{"a-server-0", "node-2", "its machine is to=crowded"}},
      {"worker-1 id=7", MoveRequest{"worker-1", "", ""}},
      {"worker-1 why=", MoveRequest{"worker-1", "", ""}},
      {"worker-1 node-2", std::nullopt},
      {"to=node-2", std::nullopt},
      {" ", std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto request = ParseMoveRequest(c.text);
    ASSERT_EQ(request.has_value(), c.want.has_value());
    if (!request) continue;
    EXPECT_EQ(request->pod, c.want->pod);
    EXPECT_EQ(request->to, c.want->to);
    EXPECT_EQ(request->why, c.want->why);
  }
  const MoveRequest whole{"a-worker-1", "node-2", "it is slow"};
  EXPECT_EQ(ParseMoveRequest(ToText(whole, "7"))->why, "it is slow");
}

TEST(MoveTest, AWorkerGoesOnceAnotherOneTrainsElsewhere) {
  FakeCluster cluster = TwoMachines();
  Ask(cluster, "worker-0 to=node-2 why=its machine is crowded");
  cluster.Settle();
  EXPECT_THAT(State(cluster),
              HasSubstr("Moving: a-worker-0 moves from node-1 to node-2, because its machine is crowded"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), HasSubstr("True/PodMoving"));
  ASSERT_TRUE(cluster.Has("a-worker-2"));
  const std::string affinity = cluster.pod("a-worker-2")["spec"]["affinity"].dump();
  EXPECT_THAT(affinity, AllOf(HasSubstr(R"("operator":"In","values":["node-2"])"),
                              HasSubstr(R"("operator":"NotIn","values":["node-1"])"), HasSubstr("preferred")));
  EXPECT_EQ(affinity.find("required"), std::string::npos) << "a preference is no reason to stay pending";
  StartOn(cluster, "a-worker-2", "node-2");
  cluster.Settle();
  EXPECT_THAT(cluster.drained(), IsEmpty()) << "it runs, and has not begun to train";
  EXPECT_EQ(cluster.status().workers.replicas, 2);
  Train(cluster, "a-worker-2");
  cluster.Settle();
  EXPECT_THAT(cluster.drained(), ElementsAre("a-worker-0"));
  EXPECT_THAT(Notes(cluster, kEventWorkersDraining), ElementsAre(HasSubstr("workers to leave, a-worker-0, within")));
  EXPECT_EQ(cluster.status().move->state, api::kMoving) << "it has not left yet";
  cluster.Advance(seconds(3));
  cluster.ExitAfterLeaving("a-worker-0", 0);
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-1", "a-worker-2"));
  EXPECT_THAT(Notes(cluster, kEventPodMoved),
              ElementsAre("a-worker-0 moved from node-1 to node-2 as a-worker-2 in 3 s; its machine is crowded"));
  EXPECT_EQ(cluster.status().workers.failed, 0);
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), HasSubstr("2 of 2 workers are ready"));
  EXPECT_THAT(cluster.Settle(), IsEmpty());
  // The gap is filled when one more is wanted, and the highest index goes when one less is.
  cluster.job().spec.workers.replicas = 3;
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-0"));
}

TEST(MoveTest, ARequestIsCarriedOutOnce) {
  FakeCluster cluster = TwoMachines();
  Ask(cluster, "worker-9 id=1");
  cluster.Settle();
  cluster.Settle();
  EXPECT_THAT(Notes(cluster, kEventMoveRefused),
              ElementsAre("a-worker-9 stays where it is: the job has no such pod; it has a-server-0, a-server-1, "
                          "a-worker-0, a-worker-1"));
  Ask(cluster, "worker-9 id=2");
  cluster.Settle();
  EXPECT_EQ(Notes(cluster, kEventMoveRefused).size(), 2U);
  // A second one waits for the first.
  Ask(cluster, "worker-0 id=3");
  cluster.Settle();
  Ask(cluster, "worker-1 id=4");
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->pod, "a-worker-0");
  StartOn(cluster, "a-worker-2", "node-2");
  Train(cluster, "a-worker-2");
  cluster.Settle();
  cluster.ExitAfterLeaving("a-worker-0", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->pod, "a-worker-1");
  EXPECT_EQ(cluster.status().move->state, api::kMoving);
}

TEST(MoveTest, RefusalsSayWhy) {
  struct Case {
    const char* name;
    const char* request;
    std::function<void(FakeCluster&)> before;
    const char* want;
  };
  const auto nothing = [](FakeCluster&) {};
  const Case cases[] = {
      {"no pod is named", "to=node-2", nothing, "write POD or POD to=NODE"},
      {"it is there already", "worker-0 to=node-1", nothing, "it runs on node-1 already"},
      {"an unknown machine", "worker-0 to=node-7", nothing, "\"node-7\" takes no pods"},
      {"only one machine", "worker-0", [](FakeCluster& cluster) { cluster.machines = {Machine("node-1")}; },
       "there is no other machine that takes pods"},
      {"it leaves", "worker-1",
       [](FakeCluster& cluster) {
         cluster.job().spec.workers.replicas = 1;
         cluster.Settle();
       },
       "it leaves the job already"},
      {"the job ends", "worker-1", [](FakeCluster& cluster) { cluster.ReachGoal("evaluate"); }, "the goal is reached"},
      {"one that has failed", "worker-1", [](FakeCluster& cluster) { cluster.Exit("a-worker-1", 1); },
       "it does not run"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeCluster cluster = TwoMachines();
    c.before(cluster);
    Ask(cluster, c.request);
    cluster.Settle();
    EXPECT_THAT(State(cluster), AllOf(HasSubstr("Refused"), HasSubstr(c.want)));
    EXPECT_FALSE(cluster.Has("a-worker-2"));
  }
  v1::Abilities fixed = AllAbilities();
  fixed.set_elastic_servers(false);
  FakeCluster rigid = Running(MakeTrainingJob("a").Servers(2), fixed);
  Ask(rigid, "server-0");
  rigid.Settle();
  EXPECT_THAT(State(rigid), HasSubstr("servers of this job cannot join and leave"));
}

// Whatever becomes of the worker that is to take the place, the job continues with what it has, and counts no
// failure.
TEST(MoveTest, WhatGoesWrongIsUndone) {
  struct Case {
    const char* name;
    std::function<void(FakeCluster&)> then;
    const char* want;
  };
  const Case cases[] = {
      {"no machine has room, for ever",
       [](FakeCluster& cluster) {
         cluster.Unschedulable("a-worker-2", "0/2 nodes are available: 2 Insufficient cpu.");
         cluster.Settle();
         cluster.Advance(cluster.options.worker_move_timeout);
       },
       "within 300 s; a-worker-2 cannot be placed: 0/2 nodes are available"},
      {"its image is not there",
       [](FakeCluster& cluster) {
         cluster.Waiting("a-worker-2", "ImagePullBackOff", "no such image");
         cluster.pod("a-worker-2")["spec"]["nodeName"] = "node-2";
         cluster.Settle();
         cluster.Advance(cluster.options.worker_move_timeout);
       },
       "a-worker-2: ImagePullBackOff"},
      {"its program fails", [](FakeCluster& cluster) { cluster.Exit("a-worker-2", 3); },
       "a-worker-2, made to take its place, has ended"},
      {"it is evicted", [](FakeCluster& cluster) { cluster.Evict("a-worker-2"); }, "has ended"},
      {"it is deleted", [](FakeCluster& cluster) { cluster.DeleteFromOutside("a-worker-2"); }, "leaves the job"},
      {"its machine is lost",
       [](FakeCluster& cluster) {
         StartOn(cluster, "a-worker-2", "node-2");
         cluster.nodes->at("node-2").ready = false;
       },
       "machine node-2, where a-worker-2 was to take its place, is lost"},
      {"it lands on the same machine", [](FakeCluster& cluster) { StartOn(cluster, "a-worker-2", "node-1"); },
       "no other machine had room"},
      {"it runs and never trains",
       [](FakeCluster& cluster) {
         StartOn(cluster, "a-worker-2", "node-2");
         cluster.Settle();
         cluster.Advance(cluster.options.worker_move_timeout);
       },
       "no other worker has begun to train within 300 s"},
      {"the request is withdrawn", [](FakeCluster& cluster) { Ask(cluster, ""); }, "the request was withdrawn"},
      {"the goal is reached", [](FakeCluster& cluster) { cluster.ReachGoal("evaluate"); }, "the goal is reached"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeCluster cluster = TwoMachines();
    Ask(cluster, "worker-0");
    cluster.Settle();
    ASSERT_TRUE(cluster.Has("a-worker-2"));
    c.then(cluster);
    cluster.Settle();
    EXPECT_THAT(State(cluster), AllOf(HasSubstr("GivenUp: the move of a-worker-0 from node-1"), HasSubstr(c.want)));
    EXPECT_EQ(Notes(cluster, kEventMoveGivenUp).size(), 1U);
    cluster.Advance(minutes(2));  // its time to leave
    cluster.Settle();
    cluster.Advance(minutes(2));
    cluster.Settle();
    EXPECT_TRUE(cluster.Has("a-worker-0"));
    EXPECT_FALSE(cluster.Has("a-worker-2"));
    EXPECT_THAT(cluster.drained(), testing::Not(testing::Contains("a-worker-0")));
    EXPECT_EQ(cluster.status().workers.failed, 0);
    EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
  }
}

TEST(MoveTest, TheOneThatMovesIsLostInTheMiddle) {
  for (const bool evicted : {true, false}) {
    SCOPED_TRACE(evicted ? "evicted" : "vanished");
    FakeCluster cluster = TwoMachines();
    Ask(cluster, "worker-0");
    cluster.Settle();
    StartOn(cluster, "a-worker-2", "node-2");
    cluster.Settle();
    if (evicted) {
      cluster.Evict("a-worker-0");
    } else {
      cluster.Vanish("a-worker-0");
    }
    cluster.Settle();
    EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-1", "a-worker-2"))
        << "the one that stood in is the worker now, and no third is made";
    Train(cluster, "a-worker-2");
    cluster.Settle();
    EXPECT_EQ(cluster.status().move->state, api::kMoved);
    EXPECT_EQ(cluster.status().workers.failed, 0);
  }
  FakeCluster cluster = TwoMachines();
  Ask(cluster, "worker-0");
  cluster.Reconcile();  // the record, and nothing else yet
  cluster.Vanish("a-worker-0");
  cluster.Settle();
  EXPECT_THAT(State(cluster), HasSubstr("GivenUp"));
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-0", "a-worker-1"));
}

TEST(MoveTest, TheJobIsScaledInTheMiddle) {
  struct Case {
    const char* name;
    int32_t workers;
    std::vector<std::string> want_drained;
    const char* want_state;
  };
  const Case cases[] = {
      {"one less: the one that moves goes, and none takes its place", 1, {"a-worker-0", "a-worker-2"}, "GivenUp"},
      {"one more: it has an index of its own", 3, {}, "Moving"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeCluster cluster = TwoMachines();
    Ask(cluster, "worker-0");
    cluster.Settle();
    StartOn(cluster, "a-worker-2", "node-2");
    cluster.Connect("a-worker-2");
    cluster.Settle();
    cluster.job().spec.workers.replicas = c.workers;
    ++cluster.job().generation;
    cluster.Settle();
    std::vector<std::string> drained = cluster.drained();
    std::ranges::sort(drained);
    EXPECT_EQ(drained, c.want_drained);
    EXPECT_THAT(State(cluster), HasSubstr(c.want_state));
    EXPECT_EQ(cluster.Has("a-worker-3"), c.workers == 3);
  }
}

// After any number of acts, at any step: the same pods in the end, one Event at most, no failure.
TEST(MoveTest, AnOperatorThatDiesAtAnyActIsFollowedByOneThatContinues) {
  for (size_t acts = 0; acts < 12; ++acts) {
    SCOPED_TRACE("dies after so many acts of each round: " + std::to_string(acts));
    FakeCluster cluster = TwoMachines();
    const auto round = [&] {
      const telemetry::JobSample heard = cluster.sample;
      cluster.Reconcile(acts);
      cluster.RestartOperator();
      cluster.sample = heard;  // the sidecars are back
      cluster.Settle();
    };
    Ask(cluster, "worker-0 to=node-2");
    round();
    ASSERT_TRUE(cluster.Has("a-worker-2"));
    StartOn(cluster, "a-worker-2", "node-2");
    round();
    Train(cluster, "a-worker-2");
    round();
    EXPECT_THAT(cluster.drained(), testing::Contains("a-worker-0"));
    cluster.ExitAfterLeaving("a-worker-0", 0);
    round();
    EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-1", "a-worker-2"));
    EXPECT_EQ(cluster.status().move->state, api::kMoved);
    EXPECT_LE(Notes(cluster, kEventPodMoved).size(), 1U);
    EXPECT_EQ(cluster.status().workers.failed, 0);
  }
}

// --- which one leaves

TEST(SlowWorkersTest, TheSlowestLeaves) {
  struct Case {
    const char* name;
    std::vector<double> samples;          // of the last window of each worker
    std::vector<double> free_cores = {};  // of the machine of each
    const char* want_leaver;
  };
  const Case cases[] = {
      {.name = "nothing is known", .samples = {}, .want_leaver = "a-worker-2"},
      {.name = "all are about as fast", .samples = {70, 100, 100}, .want_leaver = "a-worker-2"},
      {.name = "one is slow", .samples = {100, 60, 100}, .want_leaver = "a-worker-1"},
      {.name = "the slower of two", .samples = {20, 40, 100}, .want_leaver = "a-worker-0"},
      {.name = "one on a full machine",
       .samples = {100, 100, 100},
       .free_cores = {0, 8, 8},
       .want_leaver = "a-worker-0"},
      {.name = "all machines are full",
       .samples = {100, 100, 100},
       .free_cores = {0, 0, 0},
       .want_leaver = "a-worker-2"},
      {.name = "slow before full", .samples = {100, 10, 100}, .free_cores = {0, 8, 8}, .want_leaver = "a-worker-1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const kube::Json container = {
        {"name", "worker"}, {"image", "example"}, {"resources", {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}}}};
    FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(3).WorkerTemplate(
        {{"spec", {{"containers", kube::Json::array({container})}}}}));
    for (size_t i = 0; i < 3; ++i) {
      const std::string name = "a-worker-" + std::to_string(i);
      if (!c.samples.empty()) {
        Train(cluster, name);
        v1::WindowReport& window = cluster.sample.pods.back().window;
        window.set_duration_seconds(1);
        window.mutable_worker()->set_steps(10);
        window.mutable_worker()->set_samples(static_cast<uint64_t>(c.samples[i]));
      }
      if (c.free_cores.empty()) continue;
      const std::string node = "node-" + std::to_string(i);
      cluster.pod(name)["spec"]["nodeName"] = node;
      if (!cluster.machines) cluster.machines.emplace();
      cluster.machines->push_back(Machine(node, c.free_cores[i]));
    }
    cluster.job().spec.workers.replicas = 2;
    cluster.Settle();
    EXPECT_THAT(cluster.drained(), ElementsAre(c.want_leaver));
    EXPECT_THAT(cluster.Settle(), IsEmpty()) << "who has been asked to leave is on the pod";
  }
}

TEST(MoveTest, APolicyAsksAsAUserWould) {
  FakeCluster cluster = TwoMachines();
  const Observed observed = cluster.Observe();
  Draft draft;
  ASSERT_TRUE(RequestMove(observed, observed.pods.back(), "node-2", "it is slow", cluster.now(), draft));
  const auto steps = std::move(draft).Finish();
  const auto& patch = std::get<PatchJob>(steps.front().action).patch;
  const auto request = ParseMoveRequest(patch["metadata"]["annotations"][api::kAnnotationMove].get<std::string>());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->pod, "a-worker-1");
  EXPECT_EQ(request->why, "it is slow");
  Ask(cluster, "worker-0");
  Draft none;
  EXPECT_FALSE(RequestMove(cluster.Observe(), observed.pods.back(), "", "it is slow", cluster.now(), none));
  cluster.Settle();
  EXPECT_FALSE(RequestMove(cluster.Observe(), observed.pods.back(), "", "it is slow", cluster.now(), none));
}

TEST(MoveTest, AFindingsMoveIsCarriedOutAndNotAskedForAgainOnceRefused) {
  FakeCluster cluster = TwoMachines();
  cluster.tuning.emplace();
  cluster.tuning->moves = {{.role = RoleName::kWorker, .index = 1, .reason = "it is slow"}};
  cluster.Settle();
  EXPECT_THAT(State(cluster),
              AllOf(HasSubstr("Moving"), HasSubstr("a-worker-1 moves from node-1, because it is slow")));

  FakeCluster alone = TwoMachines();
  alone.machines = {Machine("node-1")};
  alone.tuning.emplace();
  alone.tuning->moves = {{.role = RoleName::kWorker, .index = 1, .reason = "it is slow"}};
  for (int look = 0; look < 5; ++look) alone.Settle();
  EXPECT_THAT(State(alone), HasSubstr("there is no other machine"));
  EXPECT_EQ(Notes(alone, kEventMoveRefused).size(), 1u);

  FakeCluster gone = TwoMachines();
  gone.tuning.emplace();
  gone.tuning->moves = {{.role = RoleName::kWorker, .index = 7, .reason = "it is slow"}};
  gone.Settle();
  EXPECT_THAT(State(gone), IsEmpty()) << "there is no such worker any more";
}

}  // namespace
}  // namespace attune::controller::move_test
