// A job that gives its machines back and continues from a checkpoint, later or at once. As stories over FakeCluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "operator/controller/observe/attempts.h"
#include "operator/controller/plan/suspension/restart_to_resize.h"
#include "operator/controller/plan/suspension/suspension.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::suspension_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;
using Outcome = telemetry::DirectiveAnswer::Outcome;

JobBuilder KeptJob() { return MakeTrainingJob("a").Servers(2).Workers(2).Claim("models"); }

void AskToSuspend(FakeCluster& cluster, bool suspend = true) {
  cluster.job().spec.suspend = suspend;
  ++cluster.job().generation;
}

void Write(FakeCluster& cluster, uint64_t number) {
  cluster.sample.job->mutable_checkpoint()->set_directory("/models/a/checkpoints");
  cluster.sample.job->mutable_checkpoint()->set_number(number);
  cluster.sample.job->mutable_checkpoint()->set_step(100 * number);
}

std::string StateOf(const FakeCluster& cluster) {
  return cluster.status().suspension ? cluster.status().suspension->state : "none";
}

// What the processes say again to an operator that has just begun.
void Report(FakeCluster& cluster) {
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  cluster.sample.job.emplace();
  *cluster.sample.job->mutable_abilities() = AllAbilities();
  Say(cluster, {kServing, kServing});
}

FakeCluster Suspended() {
  FakeCluster cluster = Running(KeptJob());
  AskToSuspend(cluster);
  cluster.Settle();
  Write(cluster, 7);
  cluster.Settle();
  return cluster;
}

std::vector<std::string> ArgumentsOf(FakeCluster& cluster, const std::string& pod) {
  return kube::At(cluster.pod(pod), {"spec", "containers"})[0].at("args").get<std::vector<std::string>>();
}

std::string AttemptInEnvironment(FakeCluster& cluster, const std::string& pod) {
  for (const auto& variable : kube::At(cluster.pod(pod), {"spec", "containers"})[0].at("env")) {
    if (variable.at("name") == "ATTUNE_ATTEMPT") return variable.at("value");
  }
  return "";
}

TEST(Suspension, NoPodGoesBeforeACheckpointIsWhole) {
  FakeCluster cluster = Running(KeptJob());
  Write(cluster, 6);  // of a moment ago: no status has it
  AskToSuspend(cluster);
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre(StartsWith("a-server-0 checkpoint of suspension")));
  EXPECT_EQ(StateOf(cluster), "Checkpointing");
  EXPECT_EQ(cluster.PodNames().size(), 4U);
  EXPECT_THAT(cluster.Condition(api::kSuspended), StartsWith("False/Suspending: a checkpoint is being written"));
  Write(cluster, 7);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Suspended");
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_EQ(cluster.status().phase, "Suspended");
  EXPECT_THAT(cluster.Condition(api::kSuspended),
              "True/JobSuspended: spec.suspend is set; it will continue from checkpoint 7 in /models/a/checkpoints");
  EXPECT_THAT(cluster.Condition(api::kReady), StartsWith("False/JobSuspended"));
  EXPECT_TRUE(cluster.HasEvent("Suspended"));
}

TEST(Suspension, StaysForAsLongAsItIsWantedAndPlansNothing) {
  FakeCluster cluster = Suspended();
  cluster.Advance(std::chrono::hours(30));
  cluster.RestartOperator();
  EXPECT_THAT(cluster.Settle(), IsEmpty());
  EXPECT_EQ(StateOf(cluster), "Suspended");
}

TEST(Suspension, AManifestThatWasInvalidMeanwhileIsNoFailureOnceItIsRepaired) {
  FakeCluster cluster = Suspended();
  cluster.problems = {{.path = "spec.goal", .found = "nothing", .allowed = "a goal"}};
  cluster.Settle();
  cluster.problems.clear();
  cluster.Settle();
  EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
  EXPECT_EQ(StateOf(cluster), "Suspended");
  EXPECT_EQ(cluster.status().phase, "Suspended");
}

TEST(Suspension, TheNextAttemptBeginsWithTheCheckpointUnderAHigherTerm) {
  FakeCluster cluster = Suspended();
  const std::string secret = cluster.status().secret;
  cluster.job().status.coordinator_term = 4;
  AskToSuspend(cluster, false);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Resumed");
  EXPECT_EQ(cluster.status().suspension->attempt, 1);
  EXPECT_EQ(cluster.status().secret, secret);
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1"));
  const auto arguments = ArgumentsOf(cluster, "a-server-0");
  EXPECT_THAT(arguments, IsSupersetOf({"--load", "/models/a/checkpoints", "--load-checkpoint", "7", "--term", "5"}));
  EXPECT_EQ(AttemptInEnvironment(cluster, "a-server-1"), "1");
  EXPECT_TRUE(cluster.HasEvent("Resumed"));
  cluster.StartAll();
  cluster.Settle();
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  cluster.sample.job->set_term(5);
  *cluster.sample.job->mutable_abilities() = AllAbilities();
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_EQ(AttemptInEnvironment(cluster, "a-worker-1"), "1");
  cluster.StartAll();
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Running");
  EXPECT_THAT(cluster.Condition(api::kSuspended),
              "False/JobResumed: it continues from checkpoint 7 in /models/a/checkpoints");
}

TEST(Suspension, ReportsOfTheAttemptBeforeCountForNothing) {
  FakeCluster cluster = Suspended();  // `sample` still has what the processes before said
  cluster.options.begin_unheard_after = minutes(10);
  for (telemetry::PodSample& sample : cluster.sample.pods) {
    sample.pod_uid = "of the attempt before";
    sample.window.mutable_server()->set_rows(1000);
  }
  AskToSuspend(cluster, false);
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  EXPECT_FALSE(cluster.status().begun) << "only the new coordinator can say that";
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1"));
}

TEST(Suspension, AJobWhoseCheckpointsWouldGoWithItsPodsContinuesAndSaysSo) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  AskToSuspend(cluster);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Refused");
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
  EXPECT_EQ(cluster.PodNames().size(), 2U);
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("a checkpoint would go with the pods"));
  EXPECT_TRUE(cluster.HasEvent("SuspensionRefused"));
  EXPECT_THAT(cluster.Settle(), IsEmpty()) << "once";
  AskToSuspend(cluster, false);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSuspended), "False/JobResumed: the request was withdrawn");
}

TEST(Suspension, ACheckpointThatFailsKeepsThePods) {
  FakeCluster cluster = Running(KeptJob());
  AskToSuspend(cluster);
  cluster.Settle();
  cluster.Answer("checkpoint of suspension", Outcome::kRefused, "No space left on device");
  cluster.Settle();
  EXPECT_EQ(cluster.PodNames().size(), 4U);
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("No space left on device"));
  cluster.Advance(minutes(10));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U) << "asked again";
  AskToSuspend(cluster, false);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Resumed");
  EXPECT_EQ(AttemptOf(cluster.status()), 0) << "nothing was made again";
}

TEST(Suspension, OneThatIsWithdrawnWhilePodsGoEndsInTheNextAttempt) {
  FakeCluster cluster = Running(KeptJob());
  cluster.LoseNodeOf("a-worker-1");  // its end is not confirmed
  AskToSuspend(cluster);
  cluster.Settle();
  Write(cluster, 7);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Releasing");
  EXPECT_THAT(cluster.Condition(api::kSuspended), "False/Suspending: waiting for the end of 3 pods");
  AskToSuspend(cluster, false);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Releasing") << "what has gone does not come back";
  cluster.Vanish("a-worker-1");
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Resumed");
  EXPECT_EQ(AttemptOf(cluster.status()), 1);
}

TEST(Suspension, AMachineThatDoesNotAnswerIsNotWaitedFor) {
  FakeCluster cluster = Running(KeptJob());
  cluster.nodes.emplace();
  (*cluster.nodes)["node-of-a-worker-1"] = {.ready = false};
  cluster.pod("a-worker-1")["spec"]["nodeName"] = "node-of-a-worker-1";
  cluster.LoseNodeOf("a-worker-1");
  AskToSuspend(cluster);
  cluster.Settle();
  Write(cluster, 7);
  cluster.Reconcile();
  cluster.Advance(minutes(5));
  cluster.ListenForLong();
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Suspended");
}

TEST(Suspension, AJobThatIsCreatedSuspendedMakesNothing) {
  FakeCluster cluster(KeptJob().Build());
  AskToSuspend(cluster);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Suspended");
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_THAT(cluster.secrets(), IsEmpty());
  AskToSuspend(cluster, false);
  cluster.Settle();
  EXPECT_EQ(AttemptOf(cluster.status()), 0) << "there was none before";
  EXPECT_TRUE(cluster.Has("a-server-0"));
  EXPECT_THAT(ArgumentsOf(cluster, "a-server-0"), Not(Contains("--load")));
}

TEST(Suspension, AJobThatHasNotBegunKeepsNothing) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).Build());
  cluster.Settle();
  AskToSuspend(cluster);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Suspended") << "also where no checkpoint could be kept";
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
}

TEST(Suspension, ARestartMakesAllPodsAgain) {
  FakeCluster cluster = Running(KeptJob());
  const std::string uid(kube::Uid(cluster.pod("a-server-0")));
  cluster.job().restart_request = "id=1 why=because";
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Checkpointing");
  cluster.RestartOperator();
  Report(cluster);
  cluster.Settle();
  Write(cluster, 3);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Resumed");
  EXPECT_EQ(AttemptOf(cluster.status()), 1);
  EXPECT_EQ(cluster.status().suspension->why, "because");
  ASSERT_TRUE(cluster.Has("a-server-0"));
  EXPECT_NE(kube::Uid(cluster.pod("a-server-0")), uid);
  EXPECT_THAT(cluster.Settle(), IsEmpty()) << "a request is carried out once";
}

TEST(Suspension, ARestartThatCannotBeIsRefusedAndNotForgotten) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().restart_request = "id=1";
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "Refused");
  EXPECT_EQ(cluster.status().suspension->request, "id=1");
  EXPECT_THAT(cluster.Settle(), IsEmpty());
  EXPECT_EQ(cluster.PodNames().size(), 2U);
}

TEST(Suspension, AJobThatHasReachedItsGoalIsLeftToEnd) {
  FakeCluster cluster = Running(KeptJob());
  cluster.ReachGoal("evaluation");
  AskToSuspend(cluster);
  cluster.Settle();
  EXPECT_EQ(StateOf(cluster), "none");
  cluster.Finish();
  for (const std::string& name : cluster.PodNames()) cluster.ExitAfterLeaving(name, 0);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True"));
}

TEST(Suspension, TheTunerDecidesNothingMeanwhile) {
  FakeCluster cluster = Running(KeptJob().Tuning(api::TuningMode::kAuto));
  cluster.tuning.emplace();
  cluster.tuning->status.stage = "Keeping";
  cluster.tuning->change = JobSetting{.servers = 2, .workers = 5};
  AskToSuspend(cluster);
  cluster.Reconcile();  // the record
  cluster.tuning_state = cluster.tuning->state;
  const int32_t workers = cluster.job().spec.workers.replicas;
  cluster.Settle();
  EXPECT_EQ(cluster.job().spec.workers.replicas, workers);
}

TEST(Suspension, WhatTheTunerReportsAtTheGoalIsStillSent) {
  FakeCluster cluster = Running(KeptJob().Tuning(api::TuningMode::kAuto));
  cluster.ReachGoal("evaluation");
  cluster.tuning.emplace();
  cluster.tuning->status.stage = "Keeping";
  cluster.tuning->events.push_back({false, kEventTuningFinished, "the goal is reached"});
  cluster.Reconcile();
  EXPECT_TRUE(cluster.HasEvent(kEventTuningFinished));
}

// A process on a machine that was silent comes back under its old name, with its finalizer and its reports.
TEST(Suspension, APodOfTheAttemptBeforeIsRemovedAndCountsForNothing) {
  FakeCluster cluster = Running(KeptJob());
  const kube::Json old_worker = cluster.pod("a-worker-0");
  AskToSuspend(cluster);
  cluster.Settle();
  Write(cluster, 7);
  cluster.Settle();
  AskToSuspend(cluster, false);
  cluster.Settle();
  cluster.Put(old_worker);
  Observed seen = cluster.Observe();
  EXPECT_THAT(seen.earlier_pods, testing::SizeIs(1));
  cluster.Settle();
  EXPECT_FALSE(cluster.Has("a-worker-0"));
  EXPECT_FALSE(cluster.status().begun) << "a worker of the attempt before is no sign of this one";
}

// A cache that lags behind shows the job as it was, and pods that were made since.
TEST(Suspension, AnOldViewOfTheJobRemovesNoPodOfALaterAttempt) {
  FakeCluster cluster = Suspended();
  const api::TrainingJob before = cluster.job();
  AskToSuspend(cluster, false);
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-server-0"));
  Observed old = cluster.Observe();
  old.job = before;
  old.pods.clear();
  old.earlier_pods.clear();
  for (const std::string& name : cluster.PodNames()) old.pods.push_back(ObservePod(ProjectPod(cluster.pod(name))));
  SetOtherAttemptsApart(old, cluster.now());
  for (const auto& [action, needs] : Plan(old, cluster.options, cluster.now())) {
    EXPECT_NE(KindOf(action), "DeletePod") << Describe(action);
  }
}

// Whatever the operator has done of a plan when it dies, its successor continues; and no pod goes unless it is on
// record with which checkpoint the job continues.
TEST(Suspension, AnOperatorThatDiesAnywhereIsContinued) {
  for (size_t first = 0; first < 12; ++first) {
    SCOPED_TRACE("dies after " + std::to_string(first) + " actions of each plan, and one more each time");
    FakeCluster cluster = Running(KeptJob());
    AskToSuspend(cluster);
    const auto step = [&](size_t actions) {
      const size_t before = cluster.PodNames().size();
      cluster.Reconcile(actions);
      cluster.ConfirmDeletions();
      if (cluster.PodNames().size() < before) {
        EXPECT_EQ(StateOf(cluster), "Releasing");
        EXPECT_EQ(cluster.status().suspension->checkpoint, 7U);
      }
      cluster.RestartOperator();
      Report(cluster);
    };
    for (size_t round = 0; round < 6; ++round) step(first + round);
    EXPECT_EQ(cluster.PodNames().size(), 4U) << "no checkpoint is whole yet";
    for (size_t round = 0; round < 40 && StateOf(cluster) != "Suspended"; ++round) {
      Write(cluster, 7);
      step(first % 3 + round);
    }
    EXPECT_EQ(StateOf(cluster), "Suspended");
    AskToSuspend(cluster, false);
    for (size_t round = 0; round < 20; ++round) {
      cluster.Reconcile(first % 4 + round);
      cluster.RestartOperator();
    }
    cluster.Settle();
    EXPECT_EQ(AttemptOf(cluster.status()), 1);
    EXPECT_TRUE(cluster.Has("a-server-1"));
  }
}

// --- the last rung of a size

FakeCluster WithoutRoom(bool may_restart) {
  auto job = KeptJob().Servers(1).Workers(1);
  FakeCluster cluster = Running(job);
  cluster.job().spec.run_policy.restart_to_resize = may_restart;
  for (const std::string& name : cluster.PodNames()) {
    cluster.pod(name)["spec"]["nodeName"] = "node-" + std::string(name == "a-server-0" ? "1" : "2");
    cluster.pod(name)["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "3"}}}};
  }
  cluster.SayOfResize("a-server-0", "PodResizePending", "Infeasible", "node has 4 cores");
  // The server's machine is full with another job's pods, the worker's has room for either of them, not for both.
  cluster.machines = {{.name = "node-1", .free = {0.5, 1e12}}, {.name = "node-2", .free = {2, 1e12}}};
  return cluster;
}

TEST(RestartToResize, ASizeThatFitsOnlyIfAllPodsArePlacedAnewRestartsTheJob) {
  FakeCluster cluster = WithoutRoom(true);
  cluster.Settle();
  EXPECT_THAT(cluster.job().restart_request, HasSubstr("has no room on node-1"));
  EXPECT_EQ(StateOf(cluster), "Checkpointing");
}

TEST(RestartToResize, OnlyWhereTheSpecLetsItAndItWouldFit) {
  FakeCluster forbidden = WithoutRoom(false);
  forbidden.Settle();
  EXPECT_EQ(forbidden.job().restart_request, "");
  FakeCluster hopeless = WithoutRoom(true);
  hopeless.machines = {{.name = "node-1", .free = {-1, 1e12}}, {.name = "node-2", .free = {0, 1e12}}};
  hopeless.Settle();
  EXPECT_EQ(hopeless.job().restart_request, "");
}

TEST(RestartToResize, IsNotTriedAgainSoonForTheSameLackOfRoom) {
  FakeCluster cluster = WithoutRoom(true);
  cluster.Settle();
  ASSERT_EQ(StateOf(cluster), "Checkpointing");
  const std::string request = cluster.job().restart_request;
  cluster.job().status.suspension->state = api::kSuspensionResumed;
  cluster.Settle();
  EXPECT_EQ(cluster.job().restart_request, request);
  cluster.Advance(kRestartRetry + seconds(1));
  cluster.Settle();
  EXPECT_NE(cluster.job().restart_request, request);
}

}  // namespace
}  // namespace attune::controller::suspension_test
