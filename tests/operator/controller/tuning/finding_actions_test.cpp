// What findings lead to, and what is made of the outcome: stories of one job.
#include "operator/controller/tuning/finding_actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::controller::finding_actions_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMebibyte = 1 << 20;
constexpr double kWindow = 5;

// Two workers, of which one may straggle or grow.
class FindingActionsTest : public ::testing::Test {
 protected:
  FindingActionsTest() {
    input_.policy.mode = api::TuningMode::kAuto;
    input_.policy.window_seconds = kWindow;
    input_.settled = input_.training = true;
    input_.can_move_pods = true;
    input_.pod_memory = {{.pod = "a-server-0",
                          .uid = "s0",
                          .role = RoleName::kServer,
                          .index = 0,
                          .used = 300 * kMebibyte,
                          .limit = 1024 * kMebibyte,
                          .max = 4096 * kMebibyte}};
  }

  TuningOutput Window() {
    input_.time += kWindow;
    input_.steps += static_cast<uint64_t>(rate_ * kWindow);
    std::vector<tuner::Finding> findings;
    if (straggles_) {
      findings.push_back({tuner::Symptom::kStragglingWorker, tuner::Remedy::kMovePod, 1, 3, "worker 1 takes 3 times"});
    }
    if (starves_) {
      findings.push_back({tuner::Symptom::kStarvedWorkers,
                          servers_busy_ ? tuner::Remedy::kMoreServers : tuner::Remedy::kTellUser, -1, 0.7, "starved"});
    }
    TuningOutput output;
    actions_.Look(input_, findings, may_act_, output);
    moves_ += output.moves.size();
    if (!output.moves.empty()) last_move_ = output.moves.back();
    raises_ += output.raise_memory.size();
    for (const auto& event : output.events) events_ += event.reason + ": " + event.note + "\n";
    return output;
  }
  void Windows(int count) {
    for (int i = 0; i < count; ++i) Window();
  }
  // The pod is replaced on another machine, which takes a few windows.
  void Move() {
    input_.settled = false;
    Windows(3);
    input_.settled = true;
  }
  PodMemory& Server() { return input_.pod_memory.front(); }
  void Grow(int windows) {
    for (int i = 0; i < windows; ++i) {
      Server().used += 20 * kMebibyte;
      Window();
    }
  }

  TuningInput input_;
  FindingActions actions_;
  std::string events_;
  double rate_ = 100;
  bool straggles_ = false, starves_ = false, servers_busy_ = false, may_act_ = true;
  PodMove last_move_;
  size_t moves_ = 0, raises_ = 0;
};

TEST_F(FindingActionsTest, NothingIsDoneToAHealthyJob) {
  Windows(100);
  EXPECT_EQ(events_, "");
  EXPECT_EQ(moves_ + raises_, 0u);
  EXPECT_EQ(actions_.Save(), FindingActions().Save());
}

TEST_F(FindingActionsTest, AStragglerIsMovedOnceAndTheGainIsTold) {
  Windows(10);
  straggles_ = true;
  Windows(2);
  EXPECT_EQ(moves_, 0u) << "it may pass";
  Windows(2);
  EXPECT_GE(moves_, 1u);
  EXPECT_THAT(events_, HasSubstr("FindingActedOn: Moving worker 1 to another machine: worker 1 takes 3 times"));
  Move();
  const size_t asked = moves_;
  rate_ = 150;
  straggles_ = false;
  Windows(10);
  EXPECT_THAT(events_,
              HasSubstr("FindingOutcome: Moving worker 1 to another machine helped: 100 steps a second before, "
                        "150 after, and it is no slower than the others any more"));
  straggles_ = true;
  Windows(20);
  EXPECT_EQ(moves_, asked) << "not again so soon";
  Windows(120);
  EXPECT_GT(moves_, asked) << "the new machine has become slow as well";
}

TEST_F(FindingActionsTest, WhatDidNotHelpIsSaidAndNotDoneAgain) {
  straggles_ = true;
  Windows(6);
  Move();
  const size_t asked = moves_;
  Windows(400);
  EXPECT_THAT(events_, HasSubstr("did not help: 100 steps a second before, 100 after, and it is still slower than the "
                                 "others; it is not moved for that again"));
  EXPECT_EQ(moves_, asked);
}

TEST_F(FindingActionsTest, AMoveThatIsNotTakenUpIsAskedForAWhileOnly) {
  straggles_ = true;
  Windows(200);
  EXPECT_GE(moves_, 2u);
  EXPECT_LE(moves_, 1 + FindingActions::kAskSeconds / kWindow);
}

TEST_F(FindingActionsTest, AnotherOperatorAsksForNothingTwice) {
  straggles_ = true;
  Windows(10);
  Move();
  const size_t asked = moves_;
  const std::string saved = actions_.Save();
  actions_ = FindingActions::Load(saved);
  EXPECT_EQ(actions_.Save(), saved);
  input_.steps = 0;
  Windows(200);
  EXPECT_EQ(moves_, asked);
  for (const char* damaged : {"", "{", "[[1]]", "[[1,99,0,0,0]]", "[[1,2,0,0]]", "[\"x\", null]"}) {
    EXPECT_EQ(FindingActions::Load(damaged).Save(), FindingActions().Save()) << damaged;
  }
}

TEST_F(FindingActionsTest, AServerFarFromTheWorkersIsMovedToThem) {
  input_.distant_server = DistantServer{.index = 1, .from = "node-1", .to = "node-2"};
  Windows(10);
  starves_ = true;
  Windows(4);
  EXPECT_THAT(events_, HasSubstr("FindingActedOn: Moving server 1 to node-2: workers wait for rows 70 % of their time "
                                 "although servers have CPU left, and none of them runs on node-1"));
  EXPECT_EQ(last_move_.role, RoleName::kServer);
  EXPECT_EQ(last_move_.index, 1);
  EXPECT_EQ(last_move_.to, "node-2");
  input_.distant_server = DistantServer{.index = 0, .from = "node-1", .to = "node-2"};
  Move();
  rate_ = 140;
  Windows(8);
  EXPECT_THAT(events_, HasSubstr("Moving server 1 to another machine helped: 100 steps a second before, 140 after, and "
                                 "workers still wait for rows"));
  Windows(3);
  EXPECT_EQ(last_move_.index, 0) << "the other one is far away, too";
  input_.distant_server.reset();
  Move();
  starves_ = false;
  rate_ = 200;
  Windows(8);
  EXPECT_THAT(events_, HasSubstr("Moving server 0 to another machine helped"));
  EXPECT_EQ(FindingActions::Load(actions_.Save()).Save(), actions_.Save());
}

TEST_F(FindingActionsTest, AMoveThatWouldNotBeAskedForNowIsNotAskedForAgain) {
  input_.distant_server = DistantServer{.index = 1, .from = "node-1", .to = "node-2"};
  starves_ = true;
  Windows(4);
  ASSERT_GT(moves_, 0U);
  input_.distant_server.reset();  // a user has moved it, or has said where servers are to be
  EXPECT_TRUE(Window().moves.empty());

  straggles_ = true;
  starves_ = false;
  actions_ = FindingActions();
  moves_ = 0;
  Windows(4);
  ASSERT_GT(moves_, 0U);
  input_.can_move_pods = false;
  EXPECT_TRUE(Window().moves.empty());
}

TEST_F(FindingActionsTest, OnceAServerNearTheWorkersDidNotHelpNoOtherIsMoved) {
  input_.distant_server = DistantServer{.index = 1, .from = "node-1", .to = "node-2"};
  starves_ = true;
  Windows(6);
  Move();
  input_.distant_server->index = 0;
  Windows(8);
  EXPECT_THAT(events_, HasSubstr("Moving server 1 to another machine did not help"));
  const size_t asked = moves_;
  Windows(100);
  EXPECT_EQ(moves_, asked);
}

TEST_F(FindingActionsTest, NoServerIsMovedWhereThatIsNotTheCauseOrNotAllowed) {
  starves_ = true;
  Windows(20);
  EXPECT_EQ(moves_, 0u) << "every server runs beside workers";
  input_.distant_server = DistantServer{.index = 1, .from = "node-1", .to = "node-2"};
  servers_busy_ = true;
  Windows(20);
  EXPECT_EQ(moves_, 0u) << "servers have no CPU left";
  servers_busy_ = false;
  input_.policy.mode = api::TuningMode::kInPlaceOnly;
  Windows(20);
  EXPECT_EQ(moves_, 0u) << "another pod is needed";
  input_.policy.mode = api::TuningMode::kAuto;
  input_.policy.findings.network = api::FindingPolicy::kReport;
  Windows(20);
  EXPECT_EQ(moves_, 0u);
}

TEST_F(FindingActionsTest, MemoryIsRaisedBeforeTheLimitAndTheOutcomeIsTheUse) {
  Grow(40);
  EXPECT_GT(raises_, 0u) << "asked for until the limit is another one";
  Server().limit = 1536 * kMebibyte;
  Windows(1);
  EXPECT_THAT(events_, HasSubstr("FindingOutcome: The limit of memory of a-server-0 was raised from 1Gi to 1536Mi: it "
                                 "uses 1100Mi now, for which it would have been ended"));
  Windows(5);
  const size_t asked = raises_;
  Windows(100);
  EXPECT_EQ(raises_, asked) << "it does not grow any more";
}

TEST_F(FindingActionsTest, ARaiseThatWasNotNeededIsSaidToBe) {
  Grow(30);
  Server().limit = 1536 * kMebibyte;
  Windows(60);
  EXPECT_THAT(events_, HasSubstr("it was not needed so far (900Mi used); it stays"));
}

TEST_F(FindingActionsTest, AtItsBoundWhatToDoIsToldOnce) {
  Server().max = Server().limit;
  Grow(30);
  Windows(100);
  EXPECT_EQ(raises_, 0u);
  EXPECT_THAT(events_, HasSubstr("it has all that spec.servers.resources.memory.max allows (1Gi): raise that, or add a "
                                 "server (attune scale JOB servers=N)"));
  EXPECT_EQ(events_.find("MemoryLimit"), events_.rfind("MemoryLimit")) << events_;
}

TEST_F(FindingActionsTest, PoliciesDecideWhatActs) {
  using Mode = api::TuningMode;
  using Policy = api::FindingPolicy;
  struct Case {
    const char* name;
    Mode mode;
    Policy policy;
    bool paused, memory, straggler;
  };
  const Case cases[] = {
      {"Auto does both", Mode::kAuto, Policy::kByMode, false, true, true},
      {"a raise is in place, a move is not", Mode::kInPlaceOnly, Policy::kByMode, false, true, false},
      {"Recommend touches nothing", Mode::kRecommend, Policy::kByMode, false, false, false},
      {"Initial leaves the job alone", Mode::kInitial, Policy::kByMode, false, false, false},
      {"unless it is asked to", Mode::kRecommend, Policy::kAct, false, true, true},
      {"Report is reported", Mode::kAuto, Policy::kReport, false, false, false},
      {"Off is silent", Mode::kAuto, Policy::kOff, false, false, false},
      {"paused is paused", Mode::kAuto, Policy::kAct, true, false, false},
  };
  for (const Case& c : cases) {
    api::Tuning tuning;
    tuning.mode = c.mode;
    tuning.paused = c.paused;
    tuning.findings = {.memory = c.policy, .straggler = c.policy};
    EXPECT_EQ(ActsOnMemory(tuning), c.memory) << c.name;
    EXPECT_EQ(ActsOnStragglers(tuning), c.straggler) << c.name;
  }
}

TEST_F(FindingActionsTest, NothingIsAskedForWhileTheSpecChangesOrPodsAreNotMoved) {
  may_act_ = false;
  straggles_ = true;
  Grow(30);
  EXPECT_EQ(moves_ + raises_, 0u);
  may_act_ = true;
  input_.can_move_pods = false;
  Windows(30);
  EXPECT_EQ(moves_, 0u);
  EXPECT_THAT(events_, Not(HasSubstr("Moving worker")));
}

}  // namespace
}  // namespace attune::controller::finding_actions_test
