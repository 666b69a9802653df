// A server of a running job is given another machine: its rows move first. As stories over FakeCluster.
#include "operator/controller/members/move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "operator/controller/members/slow_workers.h"
#include "tests/operator/controller/members/two_machines.h"

namespace attune::controller::server_moves_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// --- servers

TEST(ServerMoveTest, AServerIsEmptiedAndMadeAgainElsewhere) {
  FakeCluster cluster = TwoMachines();
  Ask(cluster, "server-1 to=node-2");
  cluster.Settle();
  EXPECT_THAT(State(cluster), HasSubstr("Moving: a-server-1 moves from node-1 to node-2: its rows move to the other"));
  EXPECT_THAT(Notes(cluster, kEventServersDraining), ElementsAre(HasSubstr("a-server-1 is to move: the rows of")));
  EXPECT_THAT(cluster.sent_texts(), ElementsAre(HasSubstr("drain=")));
  Say(cluster, {kServing, kDrained});
  cluster.Settle();
  cluster.ConfirmDeletions();
  Say(cluster, {kServing});
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-server-1"));
  EXPECT_THAT(cluster.pod("a-server-1")["spec"]["affinity"].dump(),
              AllOf(HasSubstr("node-2"), HasSubstr("preferred"), HasSubstr("NotIn")));
  StartOn(cluster, "a-server-1", "node-2");
  cluster.Connect("a-server-1");
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->state, api::kMoving) << "it has no rows yet";
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_THAT(Notes(cluster, kEventPodMoved), ElementsAre(HasSubstr("a-server-1 moved from node-1 to node-2 in ")));
  EXPECT_EQ(cluster.status().servers.failed, 0);
  EXPECT_THAT(cluster.Settle(), IsEmpty());
}

// The machine that it was to go to is lost while its rows leave, or when it has started there.
TEST(ServerMoveTest, TheMachineThatAServerGoesToIsLost) {
  FakeCluster cluster = TwoMachines();
  Ask(cluster, "server-1 to=node-2");
  cluster.Settle();
  cluster.machines = {Machine("node-1")};
  cluster.nodes = std::map<std::string, ObservedNode>{{"node-1", {}}};
  Say(cluster, {kServing, kDrained});
  cluster.Settle();
  cluster.ConfirmDeletions();
  Say(cluster, {kServing});
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-server-1")) << "the job has as many servers as it is to have, wherever there is room";
  StartOn(cluster, "a-server-1", "node-1");
  cluster.Connect("a-server-1");
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_THAT(State(cluster), HasSubstr("GivenUp"));
  EXPECT_EQ(cluster.status().servers.failed, 0);
  EXPECT_THAT(cluster.Settle(), IsEmpty());
}

TEST(ServerMoveTest, AServerThatHasArrivedIsLostWithItsMachine) {
  FakeCluster cluster = TwoMachines(MakeTrainingJob("a").Servers(2).Workers(2).Backups(1));
  Ask(cluster, "server-1 to=node-2");
  cluster.Settle();
  Say(cluster, {kServing, kDrained});
  cluster.Settle();
  cluster.ConfirmDeletions();
  Say(cluster, {kServing});
  cluster.Settle();
  StartOn(cluster, "a-server-1", "node-2");
  cluster.Connect("a-server-1");
  Say(cluster, {kServing, kJoining});
  cluster.Settle();
  const std::string lost(kube::Uid(cluster.pod("a-server-1")));
  cluster.Disrupt("a-server-1", "DeletionByTaintManager");
  Say(cluster, {kServing});
  cluster.Settle();
  cluster.Answer("gone=", telemetry::DirectiveAnswer::Outcome::kDone);
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-server-1"));
  EXPECT_NE(kube::Uid(cluster.pod("a-server-1")), lost);
  StartOn(cluster, "a-server-1", "node-2");
  cluster.Connect("a-server-1");
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->state, api::kMoved);
  EXPECT_EQ(cluster.status().servers.failed, 0) << "the platform ended it";
  EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
}

TEST(ServerMoveTest, ServersAreScaledWhileOneMoves) {
  for (const int32_t servers : {1, 3}) {
    SCOPED_TRACE("to " + std::to_string(servers));
    FakeCluster cluster = TwoMachines();
    Ask(cluster, "server-1 to=node-2");
    cluster.Settle();
    Say(cluster, {kServing, kDraining});
    cluster.Settle();
    cluster.job().spec.servers.replicas = servers;
    ++cluster.job().generation;
    cluster.Settle();
    Say(cluster, {kServing, kDrained});
    cluster.Settle();
    cluster.ConfirmDeletions();
    Say(cluster, {kServing});
    cluster.Settle();
    EXPECT_EQ(cluster.Has("a-server-1"), servers == 3);
    EXPECT_EQ(cluster.Has("a-server-2"), servers == 3);
    for (const char* pod : {"a-server-1", "a-server-2"}) {
      if (servers < 3) continue;
      StartOn(cluster, pod, "node-2");
      cluster.Connect(pod);
    }
    Say(cluster, std::vector<v1::ServerState::State>(static_cast<size_t>(servers), kServing));
    cluster.Settle();
    EXPECT_THAT(State(cluster), HasSubstr(servers == 3 ? "Moved" : "GivenUp"));
    EXPECT_THAT(cluster.Settle(), IsEmpty());
    EXPECT_EQ(cluster.status().servers.failed, 0);
  }
}

TEST(ServerMoveTest, TheCoordinatorsServerMovesOnceAnotherLeads) {
  FakeCluster cluster = TwoMachines();
  ASSERT_EQ(cluster.status().coordinator, "a-server-0");
  Ask(cluster, "server-0");
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  EXPECT_THAT(cluster.sent_texts(), testing::Not(testing::Contains(HasSubstr("drain="))));
  cluster.sample.job->set_term(2);
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), testing::Contains(HasSubstr("a-server-1 drain=")));
}

TEST(ServerMoveTest, AServerThatCannotBeEmptiedStays) {
  FakeCluster cluster = TwoMachines();
  Ask(cluster, "server-1");
  cluster.Settle();
  Say(cluster, {kServing, kDraining});
  cluster.Advance(cluster.options.server_move_timeout);
  cluster.Settle();
  EXPECT_THAT(State(cluster), HasSubstr("GivenUp: the move of a-server-1 from node-1 was given up: its rows have not"));
  EXPECT_THAT(cluster.sent_texts(), testing::Contains(HasSubstr("servers=2"))) << "the coordinator takes it back";
  Say(cluster, {kServing, kServing});
  cluster.Advance(seconds(6));
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-server-1"));
  EXPECT_TRUE(kube::Annotation(cluster.pod("a-server-1"), kAnnotationDraining).empty());
}

// --- the only server

// Only this one is a member, and serves.
void SayOnly(FakeCluster& cluster, uint32_t index) {
  Say(cluster, {kServing});
  cluster.sample.job->mutable_server_states(0)->set_index(index);
}

FakeCluster OneServer() { return TwoMachines(MakeTrainingJob("a").Servers(1).Workers(1)); }

// From the request to the last act; `round` is what the operator does between two things that happen.
void MoveTheOnlyServer(FakeCluster& cluster, const std::function<void()>& round) {
  Ask(cluster, "server-0 to=node-2");
  round();
  ASSERT_TRUE(cluster.Has("a-server-1"));
  StartOn(cluster, "a-server-1", "node-2");
  cluster.Connect("a-server-1");
  round();
  Say(cluster, {kServing, kJoining});
  round();
  EXPECT_EQ(cluster.status().coordinator, "a-server-0") << "the other one has no rows yet";
  Say(cluster, {kServing, kServing});
  round();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  cluster.sample.job->set_term(2);
  round();
  EXPECT_THAT(cluster.sent_texts(), testing::Contains(HasSubstr("a-server-1 drain=")));
  const std::string old(kube::Uid(cluster.pod("a-server-0")));
  Say(cluster, {kDrained, kServing});
  round();
  cluster.ConfirmDeletions();
  SayOnly(cluster, 1);
  round();
  ASSERT_TRUE(cluster.Has("a-server-0"));
  EXPECT_NE(kube::Uid(cluster.pod("a-server-0")), old);
  StartOn(cluster, "a-server-0", "node-2");
  cluster.Connect("a-server-0");
  round();
  EXPECT_EQ(cluster.status().move->state, api::kMoving) << "it has no rows yet";
  Say(cluster, {kServing, kServing});
  round();
  EXPECT_EQ(cluster.status().move->state, api::kMoved);
  EXPECT_EQ(cluster.status().coordinator, "a-server-0") << "the other one is to leave";
  cluster.sample.job->set_term(3);
  round();
  EXPECT_THAT(cluster.sent_texts(), testing::Contains(HasSubstr("a-server-0 servers=1")));
  Say(cluster, {kServing, kDrained});
  round();
  cluster.ConfirmDeletions();
  Say(cluster, {kServing});
  round();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-worker-0"));
  EXPECT_LE(Notes(cluster, kEventPodMoved).size(), 1U);
  EXPECT_EQ(cluster.status().servers.failed, 0);
  EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
}

TEST(ServerMoveTest, TheOnlyServerMovesWithOneMoreMeanwhile) {
  FakeCluster cluster = OneServer();
  MoveTheOnlyServer(cluster, [&] { cluster.Settle(); });
  EXPECT_THAT(Notes(cluster, kEventMoveBegun),
              ElementsAre(HasSubstr("its rows move to one more server first, which leaves afterwards")));
  EXPECT_THAT(Notes(cluster, kEventPodMoved), ElementsAre(HasSubstr("a-server-0 moved from node-1 to node-2 in ")));
  EXPECT_THAT(cluster.Settle(), IsEmpty());
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), HasSubstr("False"));
  // Where one more is made once, it is made the next time, too, in the same generation of the spec.
  const auto asked_for_two = [&] {
    return std::ranges::count_if(cluster.sent_texts(),
                                 [](const std::string& text) { return text.find("servers=2") != std::string::npos; });
  };
  const auto before = asked_for_two();
  Ask(cluster, "server-0 to=node-1");
  cluster.Settle();
  StartOn(cluster, "a-server-1", "node-1");
  cluster.Connect("a-server-1");
  Say(cluster, {kServing, kJoining});
  cluster.Settle();
  EXPECT_EQ(asked_for_two(), before + 1);
}

TEST(ServerMoveTest, TheOnlyServerMovesThoughTheOperatorDiesAtAnyAct) {
  for (size_t acts = 0; acts < 8; ++acts) {
    SCOPED_TRACE("dies after so many acts of each round: " + std::to_string(acts));
    FakeCluster cluster = OneServer();
    MoveTheOnlyServer(cluster, [&] {
      const telemetry::JobSample heard = cluster.sample;
      cluster.Reconcile(acts);
      cluster.RestartOperator();
      cluster.sample = heard;  // the sidecars are back
      cluster.Settle();
    });
  }
}

TEST(ServerMoveTest, TheOneMoreLeavesWhereTheOnlyServerCannotMove) {
  struct Case {
    const char* name;
    std::function<void(FakeCluster&)> then;
    const char* want;
  };
  const Case cases[] = {
      {"no machine has room",
       [](FakeCluster& cluster) {
         cluster.Unschedulable("a-server-1", "0/2 nodes are available: 2 Insufficient memory.");
         cluster.Settle();
         cluster.Advance(cluster.options.server_move_timeout);
       },
       "within 1800 s"},
      {"the request is withdrawn", [](FakeCluster& cluster) { Ask(cluster, ""); }, "the request was withdrawn"},
      {"the goal is reached", [](FakeCluster& cluster) { cluster.ReachGoal("evaluate"); }, "the goal is reached"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeCluster cluster = OneServer();
    Ask(cluster, "server-0");
    cluster.Settle();
    ASSERT_TRUE(cluster.Has("a-server-1"));
    c.then(cluster);
    cluster.Settle();
    EXPECT_THAT(State(cluster), AllOf(HasSubstr("GivenUp: the move of a-server-0"), HasSubstr(c.want)));
    cluster.ConfirmDeletions();
    cluster.Settle();
    EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-worker-0"));
    EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
  }
}

TEST(ServerMoveTest, AJobWithOneServerIsScaledWhileItMoves) {
  FakeCluster cluster = OneServer();
  Ask(cluster, "server-0 to=node-2");
  cluster.Settle();
  StartOn(cluster, "a-server-1", "node-2");
  cluster.Connect("a-server-1");
  Say(cluster, {kServing, kServing});
  cluster.job().spec.servers.replicas = 2;
  ++cluster.job().generation;
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->state, api::kMoving);
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-0")) << "it is one of two now";
}

// --- the operator dies

}  // namespace
}  // namespace attune::controller::server_moves_test
