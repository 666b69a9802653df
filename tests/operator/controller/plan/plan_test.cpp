#include "operator/controller/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/servers.h"
#include "proto/contract.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::plan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A job of one server and `workers` workers, all running and ready.
FakeCluster Started(JobBuilder job) {
  FakeCluster cluster(job.Build());
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  return cluster;
}

// Its servers report that they hold rows.
FakeCluster Training(JobBuilder job) {
  FakeCluster cluster = Started(std::move(job));
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  for (telemetry::PodSample& pod : cluster.sample.pods) {
    if (pod.role == contract::kRoleServer) pod.window.mutable_server()->set_rows(1);
  }
  cluster.Settle();
  return cluster;
}

TEST(PlanTest, ANewJobGetsItsServiceBudgetAndServersButNoWorkersYet) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(2).Build());
  EXPECT_THAT(cluster.Reconcile(), ElementsAre(StartsWith("WriteStatus Pending"))) << "the name of its Secret";
  EXPECT_THAT(cluster.Reconcile(),
              ElementsAre(StartsWith("CreateSecret a-attune-"), StartsWith("CreateService a "),
                          StartsWith("CreatePodDisruptionBudget a-servers"), StartsWith("CreatePod a-server-0"),
                          StartsWith("CreatePod a-server-1"), StartsWith("EmitEvent ServersCreated")));
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), StartsWith("False/WaitingForServers"));
}

TEST(PlanTest, WorkersAreCreatedWhenAllServersRunEvenIfNotReadyYet) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(2).Build());
  cluster.Settle();
  cluster.Start("a-server-0");
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1"));
  cluster.Start("a-server-1");
  cluster.pod("a-server-1")["status"]["conditions"][0]["status"] = "False";
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-0", "a-worker-1"));
  EXPECT_EQ(cluster.status().coordinator, "a-server-0");
}

// A job that is not on record as begun has trained nothing, no matter who reads that and when.
TEST(PlanTest, NoWorkerIsMadeBeforeItIsOnRecordThatTheJobHasBegun) {
  struct Case {
    const char* name;
    uint32_t joined;  // servers, as was said last; 0: nothing was
    bool said_by_present_process;
    seconds later;
    bool want_workers;
  };
  for (const Case& c :
       {Case{"one of two has joined", 1, true, seconds(1), false}, Case{"both have", 2, true, seconds(1), true},
        Case{"both had, before the job started over", 2, false, seconds(1), false},
        Case{"the coordinator was not heard yet", 0, false, seconds(9), false},
        Case{"it is not waited for any longer", 0, false, seconds(10), true}}) {
    SCOPED_TRACE(c.name);
    FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).Build());
    cluster.options.begin_unheard_after = seconds(10);
    cluster.Settle();
    cluster.StartAll();
    cluster.Settle();
    if (c.said_by_present_process) cluster.Connect("a-server-0");
    if (c.joined > 0) cluster.sample.job.emplace().set_servers(c.joined);
    cluster.Advance(c.later);
    cluster.Reconcile();
    EXPECT_FALSE(cluster.Has("a-worker-0")) << "on record first";
    EXPECT_EQ(cluster.status().begun, c.want_workers);
    cluster.Settle();
    EXPECT_EQ(cluster.Has("a-worker-0"), c.want_workers);
  }
}

TEST(PlanTest, ASecondPlanOnTheSameInputPlansNothing) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(2).Workers(2));
  EXPECT_THAT(cluster.Reconcile(), ElementsAre());
  EXPECT_THAT(cluster.Condition(api::kReady), StartsWith("True/Ready"));
  EXPECT_EQ(cluster.status().phase, "Running");
  EXPECT_TRUE(cluster.HasEvent("TrainingStarted"));
}

TEST(PlanTest, TrainingStartsOnceAndIsScaledAfterwards) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(2).Workers(1));
  const auto count = [&](const std::string& reason) {
    return std::ranges::count_if(cluster.events(),
                                 [&](const EmitEvent& event) { return event.event_reason == reason; });
  };
  EXPECT_EQ(count("TrainingStarted"), 1);
  EXPECT_EQ(count("Scaled"), 0);
  for (const int workers : {3, 2}) {
    cluster.job().spec.workers.replicas = workers;
    ++cluster.job().generation;
    cluster.Settle();
    cluster.StartAll();
    cluster.Settle();
    cluster.ConfirmDeletions();
    for (const std::string& pod : cluster.PodNames()) {
      if (pod.starts_with("a-worker") && pod.back() - '0' >= workers) cluster.Exit(pod, 0);
    }
    cluster.Settle();
    cluster.ConfirmDeletions();
    cluster.Settle();
  }
  EXPECT_EQ(count("TrainingStarted"), 1);
  EXPECT_EQ(count("Scaled"), 2) << cluster.Condition("TrainingStarted");
  EXPECT_THAT(cluster.Condition("TrainingStarted"), HasSubstr("2 servers and 2 workers are ready"));
}

TEST(PlanTest, ATunerThatIsTurnedOffLeavesItsStory) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1).Tuning(api::TuningMode::kAuto));
  cluster.tuning.emplace();
  cluster.tuning->status = {.stage = "Keeping", .message = "keeping", .servers = 1, .workers = 1, .changes = 3};
  cluster.tuning->status.decisions = {{.number = 3, .elapsed_seconds = 90, .outcome = "Kept"}};
  cluster.tuning->state = "{}";
  cluster.Settle();
  ASSERT_TRUE(cluster.status().tuning.has_value());
  cluster.tuning.reset();
  cluster.job().spec.tuning.mode = api::TuningMode::kOff;
  ++cluster.job().generation;
  cluster.Settle();
  ASSERT_TRUE(cluster.status().tuning.has_value());
  EXPECT_EQ(cluster.status().tuning->stage, "Off");
  EXPECT_EQ(cluster.status().tuning->changes, 3U);
  ASSERT_EQ(cluster.status().tuning->decisions.size(), 1U);
  EXPECT_EQ(cluster.status().tuning->decisions[0].outcome, "Kept");
  EXPECT_EQ(cluster.tuning_state, "{}");
  EXPECT_EQ(cluster.Condition(api::kTuning), "absent");
  FakeCluster never = Started(MakeTrainingJob("b").Servers(1).Workers(1));
  EXPECT_FALSE(never.status().tuning.has_value());
}

TEST(PlanTest, WhenTheJobIsFinishedAndAllWorkersHaveEndedItIsASuccessAndServersEndWithIt) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2));
  cluster.Exit("a-worker-0", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Running") << "one worker that finishes earlier is normal";
  cluster.Exit("a-worker-1", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Running") << "that it is finished says the coordinator, not an exit code";
  cluster.Finish();
  const auto done = cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True/AllWorkersSucceeded"));
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-worker-0", "a-worker-1")) << "finished pods stay for their logs";
  EXPECT_TRUE(cluster.pod("a-worker-0")["metadata"]["finalizers"].empty()) << "and are let go";
  EXPECT_FALSE(cluster.status().completion_time.empty());
  EXPECT_THAT(done.front(), StartsWith("WriteStatus")) << "recorded before anything is removed";
}

TEST(PlanTest, AServerThatExitsAfterTheLastWorkerIsNoFailure) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.Exit("a-worker-0", 0);
  cluster.Exit("a-server-0", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Succeeded");
}

TEST(PlanTest, AServerThatFinishesAMomentBeforeTheWorkersIsNoFailure) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.Exit("a-server-0", 0);
  cluster.Settle();
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
  EXPECT_TRUE(cluster.requeue().has_value());
  cluster.Exit("a-worker-0", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Succeeded");
}

// Servers end with 0 only when the goal is reached and the last worker has left: a replacement that was created
// meanwhile finds no coordinator to join.
TEST(PlanTest, WorkersThatComeAfterAllServersHaveFinishedAreNotWaitedForLong) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.Connect("a-worker-0");
  cluster.sample.pods.back().window.mutable_worker()->set_clock(120);
  cluster.Exit("a-server-0", 0);
  cluster.Exit("a-server-1", 0);
  cluster.Settle();
  cluster.Advance(seconds(55));
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Running");
  cluster.Advance(seconds(61));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True/TrainingFinished"));
}

TEST(PlanTest, WorkersThatWereNeverSeenToTrainAreWaitedForOnlyAMoment) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.Exit("a-server-0", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Running");
  ASSERT_TRUE(cluster.requeue().has_value());
  EXPECT_LE(*cluster.requeue(), seconds(5));
  cluster.Advance(seconds(5));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True/TrainingFinished"));
}

TEST(PlanTest, AReplacementThatNeverTrainedIsNotWaitedForAtAll) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2));
  for (const char* name : {"a-worker-0", "a-worker-1"}) {
    cluster.Connect(name);
    cluster.sample.pods.back().window.mutable_worker()->set_clock(name == std::string("a-worker-0") ? 0 : 120);
  }
  cluster.Exit("a-server-0", 0);
  cluster.Settle();
  EXPECT_EQ(cluster.status().phase, "Running") << "worker 1 trained: it may have something to write";
  cluster.Exit("a-worker-1", 0);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True/TrainingFinished"));
}

TEST(PlanTest, ASummaryKeepsTheLastLossAndTheMeanRate) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.sample.mean_rate = 5000;  // of telemetry that ended with the worker
  cluster.sample.last_loss = 3.25;
  cluster.Exit("a-worker-0", 0);
  cluster.Finish();
  cluster.Settle();
  ASSERT_TRUE(cluster.status().progress.has_value());
  EXPECT_EQ(cluster.status().progress->rate, 5000);
  EXPECT_EQ(cluster.status().progress->loss, 3.25);
}

TEST(PlanTest, OneServerThatEndsAloneFailsTheJobAfterAWhile) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.Exit("a-server-0", 0);
  cluster.Settle();
  cluster.Advance(seconds(61));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/ServerFailed: a-server-0 exited with code 0 before the workers"));
}

TEST(PlanTest, AFailedWorkerIsCountedThenReplacedAfterItsBackoff) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2).BackoffLimit(3));
  cluster.Exit("a-worker-1", 3, "cannot open /data\n");
  EXPECT_THAT(cluster.Reconcile(), ElementsAre(StartsWith("PatchPod a-worker-1 (failure 1"), StartsWith("WriteStatus"),
                                               HasSubstr("exited with code 3; restart 1 of at most 3 follows in 1 s")));
  EXPECT_THAT(cluster.events().back().note, HasSubstr("cannot open /data"));
  EXPECT_EQ(cluster.status().workers.failed, 0) << "not before the mark is seen";
  EXPECT_THAT(cluster.Reconcile(), ElementsAre(StartsWith("WriteStatus")));
  EXPECT_EQ(cluster.status().workers.failed, 1);
  EXPECT_THAT(cluster.Condition(api::kWorkersReady),
              StartsWith("False/WorkerRestarting: a-worker-1 exited with code 3"));
  EXPECT_THAT(cluster.Reconcile(), ElementsAre()) << "waits for its backoff";
  EXPECT_TRUE(cluster.requeue().has_value());
  cluster.Advance(seconds(1));
  EXPECT_THAT(cluster.Reconcile(), ElementsAre(StartsWith("PatchPod a-worker-1"), StartsWith("DeletePod a-worker-1")));
  cluster.ConfirmDeletions();
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_EQ(cluster.status().workers.failed, 1);
}

TEST(PlanTest, OneFailureTooManyFailsTheJobWithTheEndOfTheLog) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1).BackoffLimit(1));
  cluster.Exit("a-worker-0", 1);
  cluster.Settle();
  cluster.Advance(seconds(10));
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  cluster.Exit("a-worker-0", 1, "corpus is empty");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), StartsWith("True/BackoffLimitExceeded: a-worker-0 exited with code 1"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("corpus is empty"));
  EXPECT_EQ(cluster.status().workers.failed, 2);
  EXPECT_EQ(cluster.status().phase, "Failed");
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-worker-0")) << "the failed pod stays for its log, the server ends";
}

TEST(PlanTest, AServerThatDiesFailsTheJobWithTheEndOfItsLog) {
  FakeCluster cluster = Training(MakeTrainingJob("a").Servers(2).Workers(2));
  cluster.ListenForLong();
  cluster.Exit("a-server-1", 139, "rows_max reached");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/ServerFailed: a-server-1 was killed by signal 11 (SIGSEGV)"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("with spec.servers.backups: 1 or checkpoints a job survives"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("rows_max reached"));
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-1"))
      << "workers that still ran are removed (cleanPods: Running)";
}

TEST(PlanTest, AServerDeletedFromOutsideFailsARunningJob) {
  FakeCluster cluster = Training(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.ListenForLong();
  cluster.DeleteFromOutside("a-server-1");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/ServerLost: a-server-1 (on node node-1) is being deleted"));
}

TEST(PlanTest, AServerThatIsGoneFailsARunningJob) {
  FakeCluster cluster = Training(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.Vanish("a-server-0");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), StartsWith("True/ServerLost: a-server-0 is gone"));
}

TEST(PlanTest, AServerThatDiesBeforeTheJobHasBegunIsReplacedAndCounted) {
  for (const bool formed : {false, true}) {
    FakeCluster cluster(MakeTrainingJob("a").Servers(2).Workers(1).BackoffLimit(1).Build());
    cluster.options.begin_unheard_after = seconds(10);
    cluster.Settle();
    cluster.Start("a-server-1");
    if (formed) cluster.Start("a-server-0");
    cluster.Settle();
    EXPECT_EQ(!cluster.status().coordinator.empty(), formed);
    for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
    for (telemetry::PodSample& pod : cluster.sample.pods) pod.window.mutable_server();
    cluster.Exit("a-server-1", 137);
    cluster.Settle();
    EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr) << "it held nothing";
    cluster.Advance(seconds(30));
    cluster.Settle();
    ASSERT_TRUE(cluster.Has("a-server-1"));
    EXPECT_TRUE(cluster.pod("a-server-1")["status"].is_null()) << "another one";
    EXPECT_EQ(cluster.status().servers.failed, 1);
    cluster.Start("a-server-1");
    cluster.Exit("a-server-1", 137);
    cluster.Settle();
    EXPECT_THAT(cluster.Condition(api::kFailed), StartsWith("True/BackoffLimitExceeded")) << "not for ever";
  }
}

// What the servers of a finished job come to is no failure: they may be killed, drained or lost before they end.
TEST(PlanTest, AJobThatHasFinishedIsNotFailedByWhatHappensToItsServers) {
  const std::vector<std::pair<const char*, std::function<void(FakeCluster&, const std::string&)>>> ends = {
      {"killed", [](FakeCluster& cluster, const std::string& pod) { cluster.Exit(pod, 137); }},
      {"deleted", [](FakeCluster& cluster, const std::string& pod) { cluster.DeleteFromOutside(pod); }},
      {"evicted", [](FakeCluster& cluster, const std::string& pod) { cluster.Evict(pod); }},
      {"gone", [](FakeCluster& cluster, const std::string& pod) { cluster.Vanish(pod); }}};
  for (const auto& [how, end] : ends) {
    SCOPED_TRACE(how);
    FakeCluster cluster = Training(MakeTrainingJob("a").Servers(2).Workers(1));
    cluster.Finish();
    cluster.Settle();
    EXPECT_THAT(cluster.Condition(kGoalReached), StartsWith("True/"));
    EXPECT_THAT(cluster.Condition(kClosingDone), StartsWith("True/"));
    cluster.RestartOperator();  // no report says it any more
    end(cluster, "a-server-0");
    cluster.Settle();
    EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
    end(cluster, "a-server-1");
    cluster.Settle();
    EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
    cluster.Advance(seconds(61));
    cluster.Settle();
    EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True/TrainingFinished"));
  }
}

TEST(PlanTest, ACoordinatorThatEndedWithZeroTellsThatTheJobIsFinishedThoughNobodyHeardIt) {
  FakeCluster cluster = Training(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.RestartOperator();
  cluster.Exit("a-worker-0", 137);
  cluster.Exit("a-server-0", 0);
  cluster.Exit("a-server-1", 137);
  cluster.Settle();
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
  cluster.Advance(seconds(61));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), StartsWith("True/TrainingFinished"));
}

TEST(PlanTest, ServersThatHaveNotSaidWhatTheyCanMayBeAbleToGoOn) {
  for (const char* lost : {"a-server-0", "a-server-1"}) {
    FakeCluster cluster = Training(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
    EXPECT_TRUE(cluster.status().begun);
    EXPECT_FALSE(cluster.status().abilities);
    cluster.Exit(lost, 137);
    cluster.Settle();
    EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr) << lost;
  }
}

// The coordinator waits for as many servers as it was started with, whatever the spec says meanwhile.
TEST(PlanTest, AnEditOfTheNumberOfServersWaitsUntilTheJobHasBegun) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(3).Workers(1).Build());
  cluster.options.begin_unheard_after = seconds(10);
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  cluster.job().status.abilities = api::Abilities{true, true, true, true, true};
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  for (telemetry::PodSample& pod : cluster.sample.pods) {
    if (pod.role == contract::kRoleServer) pod.window.mutable_server();
  }
  cluster.job().spec.servers.replicas = 2;
  cluster.Exit("a-server-2", 137);
  for (int i = 0; i < 3; ++i) {
    cluster.Settle();
    cluster.Advance(seconds(10));
  }
  ASSERT_TRUE(cluster.Has("a-server-2"));
  EXPECT_TRUE(cluster.pod("a-server-2")["status"].is_null()) << "another one";
}

TEST(PlanTest, AServerDeletedBeforeTheJobFormedIsCreatedAgain) {
  FakeCluster cluster(MakeTrainingJob("a").Servers(2).Build());
  cluster.Settle();
  cluster.DeleteFromOutside("a-server-1");
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1"));
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
}

TEST(PlanTest, AWorkerDeletedFromOutsideIsReplacedAndNotCounted) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2).BackoffLimit(0));
  const auto old_uid = kube::Uid(cluster.pod("a-worker-1"));
  const std::string old(old_uid);
  cluster.DeleteFromOutside("a-worker-1");
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_NE(kube::Uid(cluster.pod("a-worker-1")), old);
  EXPECT_EQ(cluster.status().workers.failed, 0);
  EXPECT_TRUE(cluster.HasEvent("WorkerReplaced"));
}

TEST(PlanTest, AWorkerThatExitsZeroWhileBeingDeletedHasNotFinishedTheJob) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.DeleteFromOutside("a-worker-0");
  cluster.Exit("a-worker-0", 0);
  cluster.Settle();
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kSucceeded), nullptr);
  EXPECT_TRUE(cluster.Has("a-worker-0"));
}

TEST(PlanTest, AWorkerWhoseMachineShutsDownHasNotFinishedThoughItsContainerReturnedZero) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.Exit("a-worker-0", 0);
  cluster.pod("a-worker-0")["status"]["phase"] = "Failed";
  cluster.pod("a-worker-0")["status"]["reason"] = "Terminated";
  cluster.Settle();
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kSucceeded), nullptr);
  EXPECT_EQ(cluster.status().workers.failed, 0) << "nor has it failed";
}

TEST(PlanTest, AnEvictedWorkerIsReplacedAtOnceAndCountsNoFailure) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2));
  const std::string old(kube::Uid(cluster.pod("a-worker-0")));
  cluster.Evict("a-worker-0");
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-worker-0"));
  EXPECT_NE(kube::Uid(cluster.pod("a-worker-0")), old);
  EXPECT_EQ(cluster.status().workers.failed, 0);
  EXPECT_TRUE(std::ranges::any_of(
      cluster.events(), [](const EmitEvent& event) { return event.note.find("Evicted") != std::string::npos; }));
}

TEST(PlanTest, AWorkerOnALostNodeIsRemovedWithoutConfirmationAfterItsGrace) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2));
  const std::string old(kube::Uid(cluster.pod("a-worker-1")));
  cluster.LoseNodeOf("a-worker-1");
  cluster.DeleteFromOutside("a-worker-1", 30);
  cluster.Settle();
  EXPECT_EQ(kube::Uid(cluster.pod("a-worker-1")), old) << "its name is still taken";
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), HasSubstr("waiting for the previous pod a-worker-1"));
  cluster.Advance(seconds(61));
  cluster.Settle();
  EXPECT_NE(kube::Uid(cluster.pod("a-worker-1")), old);
  EXPECT_TRUE(cluster.HasEvent("NodeLost"));
}

TEST(PlanTest, ScalingUpAddsNewIndexesOnly) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.workers.replicas = 3;
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-worker-0", "a-worker-1", "a-worker-2"));
}

TEST(PlanTest, ScalingDownDrainsTheHighestIndexesThroughTheirSidecars) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(3).DrainSeconds(60));
  cluster.Connect("a-worker-1");
  cluster.Connect("a-worker-2");
  cluster.Settle();
  cluster.job().spec.workers.replicas = 1;
  cluster.Settle();
  EXPECT_THAT(cluster.drained(), ElementsAre("a-worker-2", "a-worker-1"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/WorkersLeaving: 2 workers"));
  EXPECT_EQ(kube::Annotation(cluster.pod("a-worker-2"), contract::kAnnotationDrainDeadline),
            ToRfc3339(cluster.now().wall + seconds(60)));
  cluster.Exit("a-worker-2", 0);
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-worker-0", "a-worker-1"));
  cluster.Advance(seconds(61));
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-worker-0")) << "its deadline passed";
  EXPECT_TRUE(cluster.HasEvent("DrainDeadlinePassed"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(PlanTest, ARestartedOperatorCarriesOnADrain) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2).DrainSeconds(60));
  cluster.Connect("a-worker-1");
  cluster.job().spec.workers.replicas = 1;
  cluster.Settle();
  const auto deadline = std::string(kube::Annotation(cluster.pod("a-worker-1"), contract::kAnnotationDrainDeadline));
  cluster.Advance(seconds(30));
  cluster.RestartOperator();
  cluster.Connect("a-worker-1");
  cluster.Settle();
  EXPECT_THAT(cluster.drained(), ElementsAre("a-worker-1", "a-worker-1"))
      << "said again: it is unknown whether it was heard";
  EXPECT_EQ(kube::Annotation(cluster.pod("a-worker-1"), contract::kAnnotationDrainDeadline), deadline)
      << "the deadline stands";
  cluster.Advance(seconds(31));
  cluster.Settle();
  EXPECT_FALSE(cluster.Has("a-worker-1"));
}

TEST(PlanTest, ALeavingWorkerWithoutSidecarIsAskedBySigterm) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2).DrainSeconds(60));
  cluster.job().spec.workers.replicas = 1;
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-1")) << "its sidecar may come back";
  cluster.Advance(seconds(5));
  EXPECT_THAT(cluster.Reconcile(), Contains(HasSubstr("DeletePod a-worker-1 (no sidecar to ask; SIGTERM")));
}

TEST(PlanTest, ALeavingWorkerThatNeverStartedIsRemovedAtOnce) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.workers.replicas = 2;
  cluster.Settle();
  cluster.job().spec.workers.replicas = 1;
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-worker-0"));
}

TEST(PlanTest, ScalingUpAgainDuringADrainWaitsForTheLeaverAndThenReplacesIt) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2));
  cluster.Connect("a-worker-1");
  cluster.job().spec.workers.replicas = 1;
  cluster.Settle();
  cluster.job().spec.workers.replicas = 2;
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), StartsWith("False/PreviousPodLeaving"));
  const std::string old(kube::Uid(cluster.pod("a-worker-1")));
  cluster.Exit("a-worker-1", 0);
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_NE(kube::Uid(cluster.pod("a-worker-1")), old);
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kSucceeded), nullptr) << "a drained worker's 0 is no result";
}

TEST(PlanTest, ChangingTheNumberOfServersOfARunningJobIsToldAndLeftAlone) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.job().spec.servers.replicas = 3;
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), ElementsAre("a-server-0", "a-server-1", "a-worker-0"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/CoordinatorSilent"));
  cluster.sample.job.emplace().mutable_abilities();  // none
  cluster.Settle();
  EXPECT_EQ(cluster.PodNames().size(), 3U);
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ServerScalingNotSupported: spec.servers.replicas is 3"));
  EXPECT_TRUE(cluster.HasEvent("ServerScalingNotSupported"));
  cluster.job().spec.workers.replicas = 2;
  cluster.Settle();
  EXPECT_EQ(kube::Annotation(cluster.pod("a-worker-1"), kAnnotationServers), "2");
}

TEST(PlanTest, ObstaclesAreToldInConditions) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.workers.replicas = 2;
  cluster.Settle();
  cluster.Unschedulable("a-worker-1", "0/2 nodes are available: 2 Insufficient cpu.");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReady),
              StartsWith("False/Unschedulable: a-worker-1 cannot be placed on a node: 0/2 nodes"));
  EXPECT_TRUE(cluster.HasEvent("Unschedulable"));
  cluster.Waiting("a-worker-1", "ErrImagePull", "not found");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReady), StartsWith("False/ImageNotAvailable: a-worker-1"));
  const size_t events = cluster.events().size();
  cluster.Waiting("a-worker-1", "ImagePullBackOff", "Back-off pulling image");
  EXPECT_THAT(cluster.Settle(), ElementsAre()) << "the kubelet's changing words are one story";
  EXPECT_EQ(cluster.events().size(), events);
}

TEST(PlanTest, AnInvalidManifestStartsNothingAndIsRepairable) {
  FakeCluster cluster(MakeTrainingJob("a").Build());
  cluster.problems = {{"spec.workers.replicas", "\"two\"", "a number"}, {"spec.gaol", "", "did you mean goal?"}};
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), StartsWith("True/Invalid: 2 problems"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("spec.gaol"));
  EXPECT_TRUE(cluster.PodNames().empty());
  cluster.problems.clear();
  cluster.Settle();
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
  EXPECT_FALSE(cluster.PodNames().empty());
}

TEST(PlanTest, ARunningJobWhoseManifestBecomesInvalidGoesOn) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.problems = {{"spec.goal", "", "at least one goal"}};
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Invalid"));
  EXPECT_EQ(cluster.PodNames().size(), 2U);
  EXPECT_EQ(cluster.status().phase, "Running");
}

TEST(PlanTest, ADeletedJobLetsEverythingGo) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(2));
  cluster.job().being_deleted = true;
  cluster.Settle();
  EXPECT_TRUE(cluster.PodNames().empty());
}

TEST(PlanTest, PodsOfAJobThatIsGoneAreLetGoWhenTheyAreDeleted) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  const auto plan = [&] {
    std::vector<std::string> texts;
    for (const Step& step : PlanWithoutJob(cluster.Observe().pods, cluster.now().wall)) {
      texts.push_back(Describe(step.action));
    }
    return texts;
  };
  EXPECT_TRUE(plan().empty()) << "deletion is the garbage collector's";
  cluster.DeleteFromOutside("a-worker-0", 60);
  EXPECT_THAT(plan(), ElementsAre(StartsWith("PatchPod a-worker-0 (its job is gone"),
                                  StartsWith("DeletePod a-worker-0 (its job is gone")))
      << "a drain's minute is for work that others continue";
  cluster.DeleteFromOutside("a-worker-0", 10);
  EXPECT_THAT(plan(), ElementsAre(StartsWith("PatchPod a-worker-0 (its job is gone")));
}

TEST(PlanTest, ANewJobOfTheSameNameWaitsForTheOldPodsNames) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().uid = "uid-of-its-successor";
  cluster.job().status = {};
  cluster.Settle();
  EXPECT_EQ(kube::Label(cluster.pod("a-server-0"), contract::kLabelJobUid), "uid-of-a");
  cluster.DeleteFromOutside("a-server-0");
  cluster.DeleteFromOutside("a-worker-0");
  cluster.Settle();
  EXPECT_EQ(kube::Label(cluster.pod("a-server-0"), contract::kLabelJobUid), "uid-of-its-successor");
}

TEST(PlanTest, CleanPodsDecidesWhatStays) {
  struct Case {
    api::CleanPods clean;
    std::vector<std::string> want_pods;
  };
  for (const Case& c : {Case{api::CleanPods::kNone, {"a-server-0", "a-worker-0", "a-worker-1"}},
                        Case{api::CleanPods::kRunning, {"a-server-0", "a-worker-0"}}, Case{api::CleanPods::kAll, {}}}) {
    FakeCluster cluster = Training(MakeTrainingJob("a").Servers(1).Workers(2).Clean(c.clean));
    cluster.Exit("a-worker-0", 0);
    cluster.Exit("a-server-0", 1);
    cluster.Settle();
    EXPECT_EQ(cluster.PodNames(), c.want_pods);
  }
}

TEST(PlanTest, AJobWithATimeToLiveIsDeletedAfterIt) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1).TimeToLive(100));
  cluster.Exit("a-worker-0", 0);
  cluster.Finish();
  cluster.Settle();
  EXPECT_FALSE(cluster.job_deleted());
  ASSERT_TRUE(cluster.requeue().has_value());
  EXPECT_LE(*cluster.requeue(), seconds(100));
  cluster.Advance(seconds(101));
  cluster.Reconcile();
  EXPECT_TRUE(cluster.job_deleted());
}

TEST(PlanTest, ProgressAloneIsWrittenNoOftenerThanTheInterval) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.options.status_interval = seconds(10);
  cluster.Connect("a-worker-0");
  cluster.sample.job.emplace().set_items_total(100);
  cluster.Settle();
  cluster.Advance(seconds(1));
  cluster.sample.job->set_items_done(10);
  EXPECT_THAT(cluster.Reconcile(), ElementsAre());
  ASSERT_TRUE(cluster.requeue());
  const Duration left = cluster.options.status_interval - seconds(1);
  EXPECT_LE(*cluster.requeue(), left);
  cluster.Advance(left);
  EXPECT_THAT(cluster.Reconcile(), ElementsAre(HasSubstr("(progress)")));
  EXPECT_DOUBLE_EQ(cluster.status().progress->fraction, 0.1);
}

TEST(PlanTest, TheFinalReportIsKeptEvenWhenItComesAfterTheEnd) {
  FakeCluster cluster = Started(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.Exit("a-worker-0", 0);
  cluster.Finish();
  cluster.Settle();
  (*cluster.sample.final_report.emplace().mutable_metrics())["held_out_loss"] = 2.5;
  cluster.Settle();
  ASSERT_TRUE(cluster.status().result.has_value());
  EXPECT_EQ(cluster.status().result->metrics.at("held_out_loss"), 2.5);
}

}  // namespace
}  // namespace attune::controller::plan_test
