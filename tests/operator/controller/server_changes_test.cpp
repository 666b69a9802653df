// Servers that join, leave, are lost and replaced; who runs the coordinator; what users ask of the data plane. As
// stories over FakeCluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "operator/controller/machines.h"
#include "tests/operator/controller/fake_cluster.h"

namespace attune::controller {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Outcome = telemetry::DirectiveAnswer::Outcome;

// What the coordinator says of its servers from now on.
void Say(FakeCluster& cluster, const std::vector<v1::ServerState::State>& states) {
  v1::JobWindow& window = *cluster.sample.job;
  window.clear_server_states();
  for (size_t i = 0; i < states.size(); ++i) {
    window.add_server_states()->set_index(static_cast<uint32_t>(i));
    window.mutable_server_states(static_cast<int>(i))->set_state(states[i]);
  }
  window.set_servers(static_cast<uint32_t>(states.size()));
}
constexpr auto kServing = v1::ServerState::SERVING;
constexpr auto kJoining = v1::ServerState::JOINING;
constexpr auto kDraining = v1::ServerState::DRAINING;
constexpr auto kDrained = v1::ServerState::DRAINED;

v1::Abilities All() {
  v1::Abilities can;
  can.set_elastic_servers(true);
  can.set_server_recovery(true);
  can.set_coordinator_failover(true);
  can.set_synchronization_modes(true);
  can.set_checkpoints(true);
  return can;
}

// All pods run and are connected, and the coordinator has spoken.
FakeCluster Running(JobBuilder job, const v1::Abilities& abilities = All()) {
  FakeCluster cluster(job.Build());
  for (int round = 0; round < 3; ++round) {
    cluster.Settle();
    cluster.StartAll();
  }
  cluster.Settle();
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  cluster.sample.job.emplace();
  *cluster.sample.job->mutable_abilities() = abilities;
  Say(cluster, std::vector<v1::ServerState::State>(static_cast<size_t>(cluster.job().spec.servers.replicas), kServing));
  cluster.Settle();
  return cluster;
}

void Scale(FakeCluster& cluster, int32_t servers) {
  cluster.job().spec.servers.replicas = servers;
  ++cluster.job().generation;
}

std::vector<std::string> Servers(const FakeCluster& cluster) {
  std::vector<std::string> names = cluster.PodNames();
  std::erase_if(names, [](const std::string& name) { return name.find("server") == std::string::npos; });
  return names;
}

TEST(ServerChanges, GrowingCreatesPodsAndAsksTheCoordinatorToFillThem) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Scale(cluster, 3);
  const auto done = cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1", "a-server-2"));
  EXPECT_THAT(cluster.told(), ElementsAre("a-server-0 servers=3"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/ServersJoining: 2 servers joining"));
  EXPECT_THAT(cluster.events().back().note, HasSubstr("rows move there while training goes on"));
  EXPECT_EQ(cluster.budget(), 3) << "drains of nodes spare the new ones too";
  EXPECT_THAT(cluster.pod("a-server-2")["spec"]["containers"][0]["args"], Not(Contains("--coordinator-here")));
  cluster.StartAll();
  Say(cluster, {kServing, kJoining, kJoining});
  cluster.Settle();
  Say(cluster, {kServing, kServing, kServing});
  cluster.Answer("servers=3", Outcome::kDone);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
  EXPECT_THAT(cluster.Reconcile(), IsEmpty());
  EXPECT_EQ(cluster.told().size(), 1U) << "asked once";
}

TEST(ServerChanges, ShrinkingDeletesAPodOnlyAfterItHasLeftByItself) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  EXPECT_THAT(cluster.told(), ElementsAre("a-server-0 servers=1"));
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1", "a-server-2"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/ServersLeaving: 2 servers leaving"));
  Say(cluster, {kServing, kDraining, kDraining});
  cluster.Advance(seconds(600));
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1", "a-server-2")) << "however long it takes";
  cluster.Exit("a-server-2", 0);
  Say(cluster, {kServing, kDraining});
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1"));
  EXPECT_TRUE(cluster.HasEvent("ServerLeft"));
  Say(cluster, {kServing, kDrained});
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0")) << "empty: need not end by itself";
  Say(cluster, {kServing});
  cluster.Answer("servers=1", Outcome::kDone);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
  EXPECT_EQ(cluster.budget(), 1);
}

TEST(ServerChanges, AnOperatorThatRestartsInTheMiddleGoesOn) {
  for (size_t actions = 0; actions < 8; ++actions) {
    FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
    const telemetry::JobSample sample = cluster.sample;
    Scale(cluster, 3);
    cluster.Reconcile(actions);
    cluster.RestartOperator();
    cluster.Settle();
    EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr) << actions;
    cluster.sample = sample;  // the sidecars are back
    cluster.Settle();
    EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1", "a-server-2")) << actions;
    EXPECT_THAT(cluster.told(), Contains("a-server-0 servers=3")) << actions;
  }
}

TEST(ServerChanges, ARefusalIsToldAndAskedForAgainLater) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  cluster.Answer("servers=1", Outcome::kRefused, "a checkpoint is under way");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ServerScalingRefused: the job cannot have 1 server now: a checkpoint is under way"));
  EXPECT_TRUE(cluster.HasEvent("ServerScalingRefused"));
  EXPECT_EQ(cluster.told().size(), 1U);
  cluster.Advance(cluster.options.refused_retry + seconds(1));
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 2U);
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/ServerScalingRefused"))
      << "until it is answered";
}

TEST(ServerChanges, AnAnswerThatIsLostMeansAnotherQuestionAtOnce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  cluster.Advance(seconds(5));
  cluster.Answer("servers=1", Outcome::kLost);
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 2U);
}

TEST(ServerChanges, ServersThatCannotChangeAreLeftAsTheyAreWithAClearWord) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1), v1::Abilities());
  Scale(cluster, 3);
  cluster.Settle();
  EXPECT_EQ(Servers(cluster).size(), 2U);
  EXPECT_THAT(cluster.told(), IsEmpty());
  EXPECT_THAT(
      cluster.Condition(api::kReconfiguring),
      StartsWith("False/ServerScalingNotSupported: spec.servers.replicas is 3, but the job runs with 2 servers"));
}

TEST(ServerChanges, AServerScaledAwayBeforeItStartedIsRemovedAtOnce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Scale(cluster, 2);
  cluster.Settle();
  Scale(cluster, 1);
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0"));
}

TEST(ServerChanges, AServerWantedAgainStaysWhenTheCoordinatorHasTakenItUpAgain) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
  Say(cluster, {kServing, kDraining});
  Scale(cluster, 2);
  cluster.Settle();
  EXPECT_EQ(cluster.told().back(), "a-server-0 servers=2");
  Say(cluster, {kServing, kServing});
  cluster.Advance(seconds(5));
  cluster.Settle();
  EXPECT_EQ(cluster.pod("a-server-1")["metadata"]["uid"], uid);
  EXPECT_FALSE(ObservePod(cluster.pod("a-server-1")).draining_since.has_value());
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(ServerChanges, AServerWantedAgainTooLateLeavesFirst) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  Scale(cluster, 2);
  cluster.Settle();
  const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
  cluster.Exit("a-server-1", 0);
  Say(cluster, {kServing});
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("a-server-1"));
  EXPECT_NE(cluster.pod("a-server-1")["metadata"]["uid"], uid) << "a new node";
}

// --- losses

TEST(ServerLoss, WithBackupsALostServerIsToldToTheCoordinatorAndReplaced) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Exit("a-server-1", 139, "segmentation fault\n");
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent("ServerFailed"));
  EXPECT_THAT(cluster.events().back().note,
              HasSubstr("its rows come back from their backups, and a new server follows (1 of at most 3)"));
  EXPECT_THAT(cluster.events().back().note, HasSubstr("segmentation fault"));
  EXPECT_EQ(cluster.status().servers.failed, 1);
  EXPECT_THAT(cluster.told(), ElementsAre(StartsWith("a-server-0 gone=")));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/ReplacingServer: 1 lost server being replaced"));
  const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
  cluster.Answer("gone=", Outcome::kDone);
  Say(cluster, {kServing});
  cluster.Advance(seconds(1));
  cluster.Settle();
  EXPECT_NE(cluster.pod("a-server-1")["metadata"]["uid"], uid);
  EXPECT_EQ(cluster.status().servers.failed, 1) << "counted once";
  cluster.StartAll();
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(ServerLoss, ASuccessorIsNotMadeBeforeTheCoordinatorKnowsUnlessItDoesNotAnswer) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Exit("a-server-1", 1);
  cluster.Settle();
  const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
  cluster.Advance(seconds(5));
  cluster.Settle();
  EXPECT_EQ(cluster.pod("a-server-1")["metadata"]["uid"], uid);
  cluster.Advance(cluster.options.gone_patience);
  cluster.Settle();
  EXPECT_NE(cluster.pod("a-server-1")["metadata"]["uid"], uid);
}

TEST(ServerLoss, EndsTheJobWhenItIsOneTooMany) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1).BackoffLimit(0));
  cluster.Exit("a-server-1", 1, "no space left\n");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/BackoffLimitExceeded: a-server-1 exited with code 1; servers failed 1 times, and "
                         "runPolicy.backoffLimit allows 0"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("no space left"));
}

TEST(ServerLoss, WithoutBackupsOrCheckpointEndsTheJobAndNamesTheRemedy) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.DeleteFromOutside("a-server-1");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/ServerLost: a-server-1 (on node node-1) is being deleted"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("spec.servers.backups: 1"));
}

TEST(ServerLoss, ACheckpointIsEnoughToGoOn) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent("CheckpointWritten"));
  cluster.Exit("a-server-1", 1);
  cluster.Settle();
  EXPECT_EQ(api::FindCondition(cluster.status(), api::kFailed), nullptr);
  EXPECT_THAT(cluster.events().back().note, HasSubstr("its rows come back from the last checkpoint"));
  cluster.sample.job->mutable_recovery()->set_count(1);
  cluster.sample.job->mutable_recovery()->set_restored_rows(1200);
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent("RowsRestored"));
  EXPECT_EQ(cluster.status().recovery->restored_rows, 1200U);
}

TEST(ServerLoss, TwoAtOnceAreMoreThanOneBackupCovers) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.Exit("a-server-1", 1);
  cluster.Exit("a-server-2", 1);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("2 servers were lost at the same time"));
}

TEST(ServerLoss, APodDeletedFromOutsideIsReplacedAfterItsProcessHasEnded) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.DeleteFromOutside("a-server-1");
  cluster.Settle();
  EXPECT_THAT(cluster.told(), IsEmpty()) << "it still serves";
  EXPECT_TRUE(cluster.Has("a-server-1"));
  const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
  cluster.Exit("a-server-1", 143);
  cluster.Settle();
  cluster.Answer("gone=", Outcome::kDone);
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent("ServerReplaced"));
  EXPECT_NE(cluster.pod("a-server-1")["metadata"]["uid"], uid);
  EXPECT_EQ(cluster.status().servers.failed, 0) << "no failure of its own";
}

TEST(WorkerLoss, IsToldToTheCoordinatorBeforeTheReplacementComes) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(2));
  cluster.Exit("a-worker-1", 139);
  cluster.Settle();
  EXPECT_THAT(cluster.told(), ElementsAre(StartsWith("a-server-0 gone=")));
  cluster.Advance(seconds(1));
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_EQ(cluster.told().size(), 1U);
}

// --- the coordinator

TEST(Coordinator, AnotherServerTakesOverWhenItsPodIsLost) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Exit("a-server-0", 137);
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  EXPECT_EQ(cluster.status().coordinator_term, 2) << "the first one's is 1";
  EXPECT_TRUE(cluster.HasEvent("CoordinatorAppointed"));
  // Said again by itself: on a cluster the pod may vanish only after the appointment.
  EXPECT_THAT(cluster.told(), ElementsAre("a-server-1 coordinator of term 2", "a-server-1 server 0 is gone, term 2"));
  cluster.sample.job->set_term(2);  // the new one has spoken
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_THAT(cluster.told().back(), StartsWith("a-server-1 gone="));
  cluster.Answer("gone=", Outcome::kDone);
  cluster.Advance(seconds(1));
  cluster.Settle();
  const kube::Json& container = cluster.pod("a-server-0")["spec"]["containers"][0];
  EXPECT_THAT(container["args"], Not(Contains("--coordinator-here"))) << "it comes back as a server like others";
  EXPECT_THAT(container["env"].dump(), HasSubstr("a-server-1.a.default.svc:7400"));
}

TEST(Coordinator, LostBeforeAllServersHaveJoinedTheJobBeginsAnewThere) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Say(cluster, {});
  cluster.sample.job->set_servers(1);  // has joined
  cluster.job().status.begun = false;  // there has been no other word before
  cluster.Settle();
  cluster.Exit("a-server-0", 137);
  cluster.Settle();
  for (int i = 0; i < 3; ++i) {
    cluster.Advance(seconds(10));
    cluster.Settle();
  }
  EXPECT_EQ(cluster.status().coordinator, "a-server-0");
  EXPECT_EQ(cluster.status().coordinator_term, 0);
  EXPECT_THAT(cluster.Condition(api::kFailed), Not(StartsWith("True")));
  EXPECT_THAT(cluster.told(), IsEmpty()) << "nobody else is told to run it";
  EXPECT_THAT(cluster.pod("a-server-0")["spec"]["containers"][0]["args"], Contains("--coordinator-here"));
  EXPECT_TRUE(cluster.pod("a-server-0")["status"].is_null()) << "it is another one, which has not started yet";
}

TEST(Coordinator, AServerThatHasNotJoinedYetDoesNotTakeOver) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  Say(cluster, {kServing, kDrained, kServing});
  cluster.Exit("a-server-0", 137);
  cluster.Reconcile();
  EXPECT_EQ(cluster.status().coordinator, "a-server-2");
}

TEST(Coordinator, AnAppointmentSurvivesTheOperatorsRestart) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.Exit("a-server-0", 137);
  cluster.Reconcile();
  cluster.RestartOperator();
  for (const char* name : {"a-server-2", "a-server-1"}) cluster.Connect(name);
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  EXPECT_EQ(cluster.status().coordinator_term, 2) << "nobody else is appointed";
}

// It may not have joined the job yet, or not see that the old one has gone.
TEST(Coordinator, AServerThatRefusesTheAppointmentIsAskedAgainSoonAndThenLessOften) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Exit("a-server-0", 137);
  cluster.Settle();
  const auto orders = [&] {
    return std::ranges::count(cluster.told(), std::string("a-server-1 coordinator of term 2"));
  };
  ASSERT_EQ(orders(), 1);
  const std::pair<int, int> kTable[] = {{1, 1}, {2, 2}, {2, 2},
                                        {3, 3}, {6, 3}, {3, 4}};  // seconds later; orders so far
  int asked = 1;
  cluster.Answer("coordinator of term 2", Outcome::kRefused, "is not a member of the job yet");
  for (const auto& [later, want] : kTable) {
    cluster.Advance(seconds(later));
    cluster.Settle();
    EXPECT_EQ(orders(), want) << later << " s later";
    if (want == asked) continue;
    asked = want;
    cluster.Answer("coordinator of term 2", Outcome::kRefused, "is not a member of the job yet");
  }
}

// All that is left of the time before are the pods and the status.
FakeCluster RestartedWithoutItsCoordinator(bool begun) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.job().status.begun = begun;
  cluster.Exit("a-server-0", 137);
  cluster.RestartOperator();
  cluster.sample.job.reset();
  cluster.sample.pods.clear();
  return cluster;
}

TEST(Coordinator, AfterTheOperatorsRestartAJobThatHadBegunGetsAnotherOne) {
  FakeCluster cluster = RestartedWithoutItsCoordinator(true);
  cluster.Connect("a-server-1");
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  EXPECT_EQ(cluster.status().coordinator_term, 2) << "above that of the first one, which it has never heard";
}

TEST(Coordinator, AfterTheOperatorsRestartReportsTellWhetherTheJobHasBegun) {
  for (const bool trained : {false, true}) {
    FakeCluster cluster = RestartedWithoutItsCoordinator(false);
    cluster.Settle();
    cluster.Connect("a-server-1");
    cluster.Settle();
    EXPECT_EQ(cluster.status().coordinator, "a-server-0") << "nobody is appointed before server 1 has reported";
    EXPECT_THAT(cluster.told(), IsEmpty());
    cluster.sample.pods.back().window.mutable_server()->set_rows(trained ? 7 : 0);
    for (int i = 0; i < 3; ++i) {
      cluster.Advance(seconds(10));
      cluster.Settle();
    }
    EXPECT_EQ(cluster.status().coordinator, trained ? "a-server-1" : "a-server-0");
    EXPECT_EQ(cluster.status().begun, trained);
    if (trained) continue;
    EXPECT_THAT(cluster.told(), IsEmpty());
    ASSERT_TRUE(cluster.Has("a-server-0"));
    EXPECT_TRUE(cluster.pod("a-server-0")["status"].is_null()) << "the job begins anew there";
  }
}

TEST(Coordinator, ItsServerIsScaledAwayOnlyAfterAnotherHasTakenOver) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.job().status.coordinator = "a-server-2";
  cluster.job().status.coordinator_term = 4;
  cluster.sample.job->set_term(4);
  Scale(cluster, 2);
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-0");
  EXPECT_EQ(cluster.status().coordinator_term, 5);
  EXPECT_THAT(cluster.told(), ElementsAre("a-server-0 coordinator of term 5"));
  cluster.sample.job->set_term(5);
  cluster.Settle();
  EXPECT_THAT(cluster.told().back(), "a-server-0 servers=2");
}

TEST(Coordinator, WithoutFailoverItsLossEndsTheJobAndNamesTheCheckpoint) {
  v1::Abilities abilities = All();
  abilities.set_coordinator_failover(false);
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1), abilities);
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/9");
  cluster.Settle();
  cluster.Exit("a-server-0", 1);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("no other server can take over"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("attune run --resume /c/9"));
}

// --- synchronization and checkpoints

TEST(Requests, AnotherModeIsAskedForAndToldWhenItIsInForce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.synchronization = {api::SyncMode::kSsp, 4};
  ++cluster.job().generation;
  cluster.Settle();
  EXPECT_THAT(cluster.told(), ElementsAre("a-server-0 synchronization=SSP(4)"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/SwitchingSynchronization"));
  cluster.sample.job->mutable_synchronization()->set_mode(v1::Synchronization::SSP);
  cluster.sample.job->mutable_synchronization()->set_staleness(4);
  cluster.Settle();
  EXPECT_EQ(cluster.status().synchronization, (api::Synchronization{api::SyncMode::kSsp, 4}));
  EXPECT_THAT(cluster.events().back().note, StartsWith("Workers keep pace by SSP(4) now (before: Async)"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(Requests, AModeThatIsRefusedOrImpossibleIsSaid) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.synchronization.mode = api::SyncMode::kBsp;
  cluster.Settle();
  cluster.Answer("synchronization=BSP", Outcome::kRefused, "worker 1 did not answer in time");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/SynchronizationRefused: switching to BSP did not succeed: worker 1 did not answer"));

  FakeCluster unable = Running(MakeTrainingJob("b").Servers(1).Workers(1), v1::Abilities());
  unable.job().spec.synchronization.mode = api::SyncMode::kBsp;
  unable.Settle();
  EXPECT_THAT(unable.told(), IsEmpty());
  EXPECT_THAT(unable.Condition(api::kReconfiguring), HasSubstr("cannot switch to BSP and go on with Async"));
}

// What a worker says it computes with.
void Say(FakeCluster& cluster, const std::string& pod, uint32_t threads, uint32_t most) {
  for (telemetry::PodSample& sample : cluster.sample.pods) {
    if (sample.pod != pod) continue;
    v1::WorkerWindow& worker = *sample.window.mutable_worker();
    worker.set_steps(10);
    worker.set_threads(threads);
    worker.set_threads_max(most);
  }
}

TEST(Requests, EveryWorkerIsToldHowManyThreadsAlsoOneThatComesLater) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(2));
  Say(cluster, "a-worker-0", 1, 8);
  Say(cluster, "a-worker-1", 1, 8);
  cluster.Settle();
  EXPECT_THAT(cluster.told(), IsEmpty()) << "as their program begins";
  cluster.job().spec.worker_threads = 2;
  ++cluster.job().generation;
  Say(cluster, "a-worker-1", 2, 8);  // does so already
  cluster.Settle();
  EXPECT_THAT(cluster.told(), ElementsAre("a-worker-0 threads=2"));
  Say(cluster, "a-worker-0", 2, 8);
  cluster.Settle();
  cluster.job().spec.workers.replicas = 3;
  ++cluster.job().generation;
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  cluster.Connect("a-worker-2");
  Say(cluster, "a-worker-2", 1, 8);
  cluster.Settle();
  EXPECT_THAT(cluster.told(), ElementsAre("a-worker-0 threads=2", "a-worker-2 threads=2"));
}

TEST(Requests, ThreadsThatAWorkerDoesNotTakeAreSaid) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Say(cluster, "a-worker-0", 0, 0);
  cluster.job().spec.worker_threads = 9;
  cluster.Settle();
  EXPECT_THAT(cluster.told(), IsEmpty());
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ThreadsRefused: the program of a-worker-0 chooses its threads itself"));
  EXPECT_TRUE(cluster.HasEvent("ThreadsRefused"));
  Say(cluster, "a-worker-0", 1, 8);
  cluster.Settle();
  cluster.Answer("threads=9", Outcome::kRefused, "this worker computes with 1 to 8 threads, not with 9");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), HasSubstr("not with 9"));
  cluster.job().spec.worker_threads.reset();
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(Requests, EachCheckpointRequestIsCarriedOutOnce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().checkpoint_request = "before lunch";
  cluster.Settle();
  EXPECT_THAT(cluster.told(), ElementsAre("a-server-0 checkpoint=before lunch"));
  EXPECT_FALSE(cluster.status().checkpoint.has_value());
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
  cluster.sample.job->mutable_checkpoint()->set_rows(12);
  cluster.Answer("checkpoint=before lunch", Outcome::kDone);
  cluster.Settle();
  ASSERT_TRUE(cluster.status().checkpoint.has_value());
  EXPECT_EQ(cluster.status().checkpoint->request, "before lunch");
  EXPECT_EQ(cluster.status().checkpoint->directory, "/c/1");
  EXPECT_EQ(cluster.status().checkpoint->message, "");
  cluster.RestartOperator();
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 1U) << "also for a restarted operator";
}

TEST(Requests, CheckpointsFollowTheirInterval) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.checkpoint.interval_seconds = 600;
  cluster.Settle();
  EXPECT_THAT(cluster.told(), IsEmpty());
  cluster.Advance(seconds(601));
  cluster.Settle();
  ASSERT_EQ(cluster.told().size(), 1U);
  EXPECT_THAT(cluster.told()[0], StartsWith("a-server-0 checkpoint after "));
  cluster.Answer("checkpoint after", Outcome::kRefused, "disk full");
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->regular_message, "disk full");
  EXPECT_EQ(cluster.status().checkpoint->message, "") << "nobody has asked for one";
  EXPECT_TRUE(cluster.HasEvent("CheckpointFailed"));
  const size_t events = cluster.events().size();
  cluster.Settle();
  EXPECT_EQ(cluster.events().size(), events) << "told once";
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 2U) << "tried again";
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
  cluster.sample.job->mutable_checkpoint()->set_complete_unix_seconds(Seconds(cluster.now().wall.time_since_epoch()));
  cluster.Answer("checkpoint after", Outcome::kDone);
  cluster.Settle();
  cluster.Advance(seconds(599));
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 2U);
  cluster.Advance(seconds(2));
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 3U);
  cluster.Answer("checkpoint after", Outcome::kDone);
  cluster.sample.job->set_goal_reached(true);
  cluster.Advance(seconds(2'000));
  cluster.Settle();
  EXPECT_EQ(cluster.told().size(), 3U) << "the model is saved now, and soon nobody is there to ask";
}

TEST(Requests, ACheckpointThatWasAskedForIsNotAnsweredWithWhatBefellARegularOne) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.checkpoint.interval_seconds = 600;
  cluster.Advance(seconds(601));
  cluster.Settle();
  cluster.Answer("checkpoint after", Outcome::kRefused, "a node was lost");
  cluster.Settle();
  cluster.job().checkpoint_request = "1";
  cluster.Settle();
  cluster.Answer("checkpoint=1", Outcome::kDone);
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->request, "1");
  EXPECT_EQ(cluster.status().checkpoint->message, "");
  EXPECT_EQ(cluster.status().checkpoint->regular_message, "a node was lost") << "until a newer one is there";
  cluster.sample.job->mutable_checkpoint()->set_number(1);
  cluster.sample.job->mutable_checkpoint()->set_complete_unix_seconds(Seconds(cluster.now().wall.time_since_epoch()));
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->regular_message, "");
}

TEST(Requests, ACheckpointThatFailsIsAnsweredToo) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().checkpoint_request = "1";
  cluster.Settle();
  cluster.Answer("checkpoint=1", Outcome::kRefused, "/c: no space left");
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->request, "1");
  EXPECT_EQ(cluster.status().checkpoint->message, "/c: no space left");
  EXPECT_TRUE(cluster.HasEvent("CheckpointFailed"));
}

// --- places for pods

TEST(Tuning, ASettingStandsInTheStatusBeforeItStandsInTheSpec) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(2).Tuning(api::TuningMode::kAuto));
  cluster.tuning.emplace();
  cluster.tuning->status = {.stage = "Moving", .message = "trying more", .servers = 2, .workers = 4, .state = "{1}"};
  cluster.tuning->change = JobSetting{2, 4};
  cluster.tuning->tales = {{false, "TuningTrial", "Trying 2 servers, 4 workers"}};
  std::vector<std::string> done = cluster.Reconcile();
  EXPECT_THAT(done, Contains(StartsWith("WriteStatus")));
  EXPECT_THAT(done, Not(Contains(StartsWith("PatchJob"))));
  EXPECT_EQ(cluster.status().tuning->state, "{1}");
  EXPECT_THAT(cluster.Condition(api::kTuning), "True/Moving: trying more");
  EXPECT_TRUE(cluster.HasEvent("TuningTrial"));
  cluster.tuning->tales.clear();
  done = cluster.Reconcile();
  EXPECT_THAT(done, Contains(StartsWith("PatchJob {\"servers\":{\"replicas\":2},\"workers\":{\"replicas\":4}}")));
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-3"));
}

TEST(Tuning, OfAJobWithoutItLeavesNothingInTheStatus) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1).Tuning(api::TuningMode::kRecommend));
  cluster.tuning.emplace();
  cluster.tuning->status = {.stage = "Keeping", .message = "recommends more", .state = "{}"};
  cluster.Settle();
  ASSERT_TRUE(cluster.status().tuning.has_value());
  cluster.job().spec.tuning.mode = api::TuningMode::kOff;
  cluster.tuning.reset();
  cluster.Settle();
  EXPECT_FALSE(cluster.status().tuning.has_value());
  EXPECT_EQ(cluster.Condition(api::kTuning), "absent");
}

TEST(ServerLoss, WhatWasNotLostIsToldToo) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Backups(1).Workers(1));
  cluster.sample.job->mutable_recovery()->set_count(1);
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent("ServerRecovered"));
  EXPECT_FALSE(cluster.HasEvent("RowsRestored"));
  cluster.sample.job->mutable_recovery()->set_count(2);
  cluster.sample.job->mutable_recovery()->set_restored_rows(12);
  cluster.Settle();
  EXPECT_TRUE(cluster.HasEvent("RowsRestored"));
}

TEST(Machines, ExplainWhyAPodWaits) {
  kube::Json worker = {
      {"spec",
       {{"containers",
         kube::Json::array({{{"name", "worker"}, {"image", "x"}, {"resources", {{"requests", {{"cpu", "4"}}}}}}})}}}};
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1).WorkerTemplate(worker));
  cluster.job().spec.workers.replicas = 2;
  cluster.Settle();
  cluster.Unschedulable("a-worker-1", "0/2 nodes are available: 2 Insufficient cpu.");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), HasSubstr("Lower the requests")) << "without figures";
  cluster.machines = {{"node-a", {1, 8.0 * (1 << 30)}}, {"node-b", {2, 4.0 * (1 << 30)}}};
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kWorkersReady),
              StartsWith("False/Unschedulable: a-worker-1 cannot be placed on a node: 0/2 nodes are available: 2 "
                         "Insufficient cpu. 1 of 1 workers can fit on no machine: each requests 4.01 CPU"));
  EXPECT_THAT(cluster.Condition(api::kWorkersReady), HasSubstr("the freest machine (node-a) has 1 CPU and 8.0 GiB"));
}

TEST(Machines, RequestsAddUpAsKubernetesCountsThem) {
  const auto pod = kube::Json::parse(R"({"spec": {
    "containers": [{"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "memory": "1Gi"}}},
                   {"resources": {"requests": {"memory": "1Gi"}}}],
    "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "10m"}}},
                       {"resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}})");
  const scheduler::Resources requests = RequestsOf(pod);
  EXPECT_DOUBLE_EQ(requests.cpu_cores, 1) << "the init container needs more than the rest";
  EXPECT_DOUBLE_EQ(requests.memory_bytes, 2.0 * (1 << 30)) << "a limit without request is one";
  EXPECT_EQ(RequestsOf(kube::Json::object()), scheduler::Resources());
}

TEST(Machines, CordonedAndSilentNodesTakeNoPods) {
  const auto node = [](const char* text) { return std::make_shared<const kube::Json>(kube::Json::parse(text)); };
  ObservedPod pod;
  pod.node = "a";
  pod.requests = {1, 0};
  const auto machines = FreeMachines(
      {node(R"({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "memory": "1Ki"}}})"),
       node(R"({"metadata": {"name": "b"}, "spec": {"unschedulable": true}})"),
       node(R"({"metadata": {"name": "c"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})")},
      {pod});
  ASSERT_EQ(machines.size(), 1U);
  EXPECT_EQ(machines[0].name, "a");
  EXPECT_EQ(machines[0].free, (scheduler::Resources{3, 1024}));
}

}  // namespace
}  // namespace attune::controller
