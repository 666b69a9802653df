// Servers that join, leave, are lost and replaced; who runs the coordinator. As
// stories over FakeCluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "proto/pod_number.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::server_changes_test {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Outcome = telemetry::DirectiveAnswer::Outcome;

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
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-server-0 servers=3"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/ServersJoining: 2 servers joining"));
  EXPECT_THAT(cluster.events().back().note, HasSubstr("rows move there while training continues"));
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
  EXPECT_EQ(cluster.sent_texts().size(), 1U) << "asked once";
}

TEST(ServerChanges, ShrinkingDeletesAPodOnlyAfterItHasLeftByItself) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-server-0 servers=1"));
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
    EXPECT_THAT(cluster.sent_texts(), Contains("a-server-0 servers=3")) << actions;
  }
}

TEST(ServerChanges, ARefusalIsToldAndAskedForAgainLater) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  cluster.Answer("servers=1", Outcome::kRefused, "a checkpoint is in progress");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/ServerScalingRefused: the job cannot have 1 server now: a checkpoint is in progress"));
  EXPECT_TRUE(cluster.HasEvent("ServerScalingRefused"));
  EXPECT_EQ(cluster.sent_texts().size(), 1U);
  cluster.Advance(cluster.options.refused_retry + seconds(1));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
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
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
}

TEST(ServerChanges, ServersThatCannotChangeAreLeftAsTheyAreWithAClearWord) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1), v1::Abilities());
  Scale(cluster, 3);
  cluster.Settle();
  EXPECT_EQ(Servers(cluster).size(), 2U);
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
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

// Its kubelet is late: the process may have joined long ago, and have rows that are nowhere else.
TEST(ServerChanges, AServerScaledAwayOnceItHasAMachineLeavesLikeOneThatRuns) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Scale(cluster, 2);
  cluster.Settle();
  cluster.pod("a-server-1")["spec"]["nodeName"] = "node-1";
  Scale(cluster, 1);
  Say(cluster, {kServing, kJoining});
  cluster.Settle();
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1")) << "the coordinator moves its rows first";
  Say(cluster, {kServing});
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1")) << "that may be from before it joined";
  cluster.Connect("a-server-0");
  cluster.Settle();
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0")) << "it is no member";
}

TEST(ServerChanges, AServerWantedAgainStaysWhenTheCoordinatorHasTakenItUpAgain) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  Scale(cluster, 1);
  cluster.Settle();
  const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
  Say(cluster, {kServing, kDraining});
  Scale(cluster, 2);
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().back(), "a-server-0 servers=2");
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
  EXPECT_THAT(cluster.sent_texts(), ElementsAre(StartsWith("a-server-0 gone=")));
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
  cluster.Advance(cluster.options.gone_timeout);
  cluster.Settle();
  EXPECT_NE(cluster.pod("a-server-1")["metadata"]["uid"], uid);
}

TEST(ServerLoss, EndsTheJobWhenItIsOneTooMany) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1).BackoffLimit(0));
  cluster.ListenForLong();
  cluster.Exit("a-server-1", 1, "no space left\n");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/BackoffLimitExceeded: a-server-1 exited with code 1; servers failed once, and "
                         "runPolicy.backoffLimit allows 0"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("no space left"));
}

TEST(ServerLoss, WithoutBackupsOrCheckpointEndsTheJobAndNamesTheRemedy) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.ListenForLong();
  cluster.DeleteFromOutside("a-server-1");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed),
              StartsWith("True/ServerLost: a-server-1 (on node node-1) is being deleted"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("spec.servers.backups: 1"));
}

TEST(ServerLoss, OneThatHasNotJoinedHadNoRowsAndIsReplaced) {
  struct Case {
    const char* story;
    void (*happens)(FakeCluster&);
    bool ends_the_job;
  };
  const Case cases[] = {
      {"it ended before the coordinator named it", [](FakeCluster& cluster) { cluster.Exit("a-server-1", 1); }, false},
      {"it is deleted before that", [](FakeCluster& cluster) { cluster.DeleteFromOutside("a-server-1"); }, false},
      {"its rows had moved away again",
       [](FakeCluster& cluster) {
         Say(cluster, {kServing, kDrained});
         cluster.Exit("a-server-1", 1);
       },
       false},
      {"it had joined",
       [](FakeCluster& cluster) {
         Say(cluster, {kServing, kJoining});
         cluster.Exit("a-server-1", 1);
       },
       true},
      {"it had joined and is declared lost",
       [](FakeCluster& cluster) {
         const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
         cluster.sample.job->add_lost_pods(contract::PodNumber(uid));
         cluster.Exit("a-server-1", 1);
       },
       true}};
  for (const Case& test : cases) {
    SCOPED_TRACE(test.story);
    FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
    cluster.ListenForLong();
    Scale(cluster, 2);
    cluster.Settle();
    cluster.StartAll();
    cluster.Settle();
    const std::string uid = cluster.pod("a-server-1")["metadata"]["uid"];
    test.happens(cluster);
    cluster.Settle();
    EXPECT_EQ(api::IsTrue(cluster.status(), api::kFailed), test.ends_the_job) << cluster.Condition(api::kFailed);
    if (test.ends_the_job) continue;
    cluster.ConfirmDeletions();
    cluster.Advance(cluster.options.gone_timeout + seconds(60));
    cluster.Settle();
    ASSERT_TRUE(cluster.Has("a-server-1"));
    EXPECT_NE(cluster.pod("a-server-1")["metadata"]["uid"], uid) << "another one follows";
  }
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

// Copies are kept on other machines, so two servers of one machine may well be lost without a loss of rows; how it is
// the coordinator reports.
TEST(ServerLoss, OfTwoAtOnceIsJudgedByWhatBecameOfTheirRows) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.Exit("a-server-1", 1);
  cluster.Exit("a-server-2", 1);
  cluster.Settle();
  cluster.Advance(seconds(2));
  cluster.Connect("a-server-0");
  cluster.Settle();
  EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
  v1::Recovery& recovery = *cluster.sample.job->mutable_recovery();
  recovery.set_count(1);
  cluster.Settle();
  EXPECT_EQ(cluster.Condition(api::kFailed), "absent");
  recovery.set_restored_shards(20);
  recovery.set_steps_lost(7);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), StartsWith("True/ServerFailed: a-server-1 exited with code 1"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("rows of it (20 shards) went back to their first values"));
}

TEST(ServerLoss, APodDeletedFromOutsideIsReplacedAfterItsProcessHasEnded) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.DeleteFromOutside("a-server-1");
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), IsEmpty()) << "it still serves";
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
  EXPECT_THAT(cluster.sent_texts(), ElementsAre(StartsWith("a-server-0 gone=")));
  cluster.Advance(seconds(1));
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-1"));
  EXPECT_EQ(cluster.sent_texts().size(), 1U);
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
  EXPECT_THAT(cluster.sent_texts(),
              ElementsAre("a-server-1 coordinator of term 2", "a-server-1 server 0 is gone, term 2"));
  cluster.sample.job->set_term(2);  // the new one has spoken
  Say(cluster, {kServing, kServing});
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts().back(), StartsWith("a-server-1 gone="));
  cluster.Answer("gone=", Outcome::kDone);
  cluster.Advance(seconds(1));
  cluster.Settle();
  const kube::Json& container = cluster.pod("a-server-0")["spec"]["containers"][0];
  EXPECT_THAT(container["args"], Not(Contains("--coordinator-here"))) << "it comes back as a server like others";
  EXPECT_THAT(container["env"].dump(), HasSubstr("a-server-1.a.default.svc:7400"));
}

// The one that ended may have had the only vote, so that nothing but proof of its end lets another coordinator begin.
TEST(Coordinator, APodThatProvesAnEndStaysUntilACoordinatorLeads) {
  struct Case {
    const char* story;
    void (*happens)(FakeCluster&);
  };
  const Case cases[] = {
      {"the appointed one does not answer", [](FakeCluster& cluster) { cluster.Exit("a-server-0", 137); }},
      {"no other server can be appointed",
       [](FakeCluster& cluster) {
         cluster.Connect("a-server-1", false);
         cluster.Exit("a-server-0", 137);
       }},
      {"it is deleted from outside, and has ended",
       [](FakeCluster& cluster) {
         cluster.DeleteFromOutside("a-server-0");
         cluster.Exit("a-server-0", 143);
       }},
      {"it was to leave, and is deleted",
       [](FakeCluster& cluster) {
         cluster.Exit("a-server-0", 137);
         cluster.Settle();
         Scale(cluster, 1);
         cluster.DeleteFromOutside("a-server-1");
         cluster.DeleteFromOutside("a-server-0");
       }},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.story);
    FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
    const std::string uid = cluster.pod("a-server-0")["metadata"]["uid"];
    test.happens(cluster);
    for (int round = 0; round < 10; ++round) {
      cluster.Settle();
      cluster.Advance(cluster.options.gone_timeout);
    }
    ASSERT_TRUE(cluster.Has("a-server-0"));
    EXPECT_EQ(cluster.pod("a-server-0")["metadata"]["uid"], uid);
  }
}

// All servers run, and their coordinator has not said that they have joined.
FakeCluster Formed(JobBuilder job) {
  FakeCluster cluster(job.Build());
  cluster.options.begin_unheard_after = seconds(10);
  cluster.Settle();
  cluster.StartAll();
  cluster.Settle();
  return cluster;
}

TEST(Coordinator, LostBeforeAllServersHaveJoinedTheJobBeginsAnewThere) {
  FakeCluster cluster = Formed(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.Connect("a-server-0");
  cluster.sample.job.emplace().set_servers(1);  // has joined
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
  EXPECT_THAT(cluster.sent_texts(), IsEmpty()) << "no other process is asked to run it";
  EXPECT_THAT(cluster.pod("a-server-0")["spec"]["containers"][0]["args"], Contains("--coordinator-here"));
  EXPECT_TRUE(cluster.pod("a-server-0")["status"].is_null()) << "it is another one, which has not started yet";
}

// All of its rows had moved away, but no process could write down that the job had begun before its coordinator was
// lost.
TEST(Coordinator, AServerThatEndedByItselfBeforeTheJobBeganIsReplaced) {
  FakeCluster cluster = Formed(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.Connect("a-server-0");
  cluster.sample.job.emplace().set_servers(1);  // has joined
  cluster.Settle();
  const std::string ended(kube::Uid(cluster.pod("a-server-2")));
  cluster.Exit("a-server-2", 0);
  for (int i = 0; i < 12; ++i) {
    cluster.Advance(seconds(10));
    cluster.Settle();
  }
  EXPECT_THAT(cluster.Condition(api::kFailed), Not(StartsWith("True")));
  EXPECT_NE(kube::Uid(cluster.pod("a-server-2")), ended);
  EXPECT_EQ(cluster.status().servers.failed, 1) << "one that ends again and again ends the job by backoffLimit";
}

TEST(Coordinator, ServersThatAllEndBeforeTheJobBeganHaveNotReachedItsGoal) {
  FakeCluster cluster = Formed(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Exit("a-server-0", 0);
  cluster.Exit("a-server-1", 0);
  cluster.Settle();
  cluster.Advance(std::chrono::minutes(2));
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSucceeded), Not(StartsWith("True")));
}

// Its last word was that it waits, and the cache shows a job that has not begun: a worker is there all the same.
TEST(Coordinator, AJobWithWorkersDoesNotBeginAgainWhateverAnOldCacheShows) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  Say(cluster, {});
  cluster.sample.job->set_servers(1);
  cluster.job().status.begun = false;
  cluster.Exit("a-server-0", 137);
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  EXPECT_EQ(cluster.status().coordinator_term, 2);
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
  EXPECT_EQ(cluster.status().coordinator_term, 2) << "no other process is appointed";
}

// It may not have joined the job yet, or not see that the old one has gone.
TEST(Coordinator, AServerThatRefusesTheAppointmentIsAskedAgainSoonAndThenLessOften) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Exit("a-server-0", 137);
  cluster.Settle();
  const auto orders = [&] {
    return std::ranges::count(cluster.sent_texts(), std::string("a-server-1 coordinator of term 2"));
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
  const JobBuilder job = MakeTrainingJob("a").Servers(2).Workers(1).Backups(1);
  FakeCluster cluster = begun ? Running(job) : Formed(job);
  cluster.Exit("a-server-0", 137);
  cluster.RestartOperator();
  return cluster;
}

// An operator that has never heard a coordinator does not know who is a member: servers that are none refuse.
TEST(Coordinator, WhereNobodyKnowsTheMembersEveryServerIsAskedInTurn) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(4).Workers(1).Backups(1));
  cluster.Exit("a-server-0", 137);
  cluster.RestartOperator();
  std::set<std::string> appointed;
  for (int i = 0; i < 60; ++i) {
    for (int server = 1; server < 4; ++server) cluster.Connect("a-server-" + std::to_string(server));
    cluster.Settle();
    cluster.Answer("coordinator of term", Outcome::kRefused, "no member");
    appointed.insert(cluster.status().coordinator);
    cluster.Advance(seconds(1));
  }
  EXPECT_THAT(appointed, testing::IsSupersetOf({"a-server-1", "a-server-2", "a-server-3"}));
}

// The only member left is beyond the wanted number.
TEST(Coordinator, AlsoOneThatIsToLeaveIsAskedInItsTurn) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.job().spec.servers.replicas = 2;
  cluster.Settle();
  cluster.Exit("a-server-0", 137);
  cluster.RestartOperator();
  std::set<std::string> appointed;
  for (int i = 0; i < 60; ++i) {
    cluster.StartAll();
    for (int server = 0; server < 3; ++server) {
      const std::string name = "a-server-" + std::to_string(server);
      if (cluster.Has(name)) cluster.Connect(name);
    }
    cluster.Settle();
    cluster.Answer("coordinator of term", Outcome::kRefused, "no member");
    appointed.insert(cluster.status().coordinator);
    cluster.Advance(seconds(1));
  }
  EXPECT_THAT(appointed, testing::Contains("a-server-2"));
}

TEST(Coordinator, AfterTheOperatorsRestartAJobThatHadBegunGetsAnotherOne) {
  FakeCluster cluster = RestartedWithoutItsCoordinator(true);
  cluster.Connect("a-server-1");
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
  EXPECT_EQ(cluster.status().coordinator_term, 2) << "above that of the first one, which it has never heard";
}

TEST(Coordinator, AfterTheOperatorsRestartAJobThatIsNotOnRecordAsBegunStartsOver) {
  FakeCluster cluster = RestartedWithoutItsCoordinator(false);
  cluster.Connect("a-server-1");
  for (int i = 0; i < 3; ++i) {
    cluster.Settle();
    cluster.Advance(seconds(10));
  }
  EXPECT_EQ(cluster.status().coordinator, "a-server-0");
  EXPECT_FALSE(cluster.status().begun);
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
  ASSERT_TRUE(cluster.Has("a-server-0"));
  EXPECT_TRUE(cluster.pod("a-server-0")["status"].is_null());
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
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-server-0 coordinator of term 5"));
  cluster.sample.job->set_term(5);
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts().back(), "a-server-0 servers=2");
}

TEST(Coordinator, WithoutFailoverItsLossEndsTheJobAndNamesTheCheckpoint) {
  v1::Abilities abilities = AllAbilities();
  abilities.set_coordinator_failover(false);
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1), abilities);
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/9");
  cluster.Settle();
  cluster.Exit("a-server-0", 1);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("no other server can take over"));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("attune run --resume /c/9"));
}

TEST(Tuning, ASettingStandsInTheRecordBeforeItStandsInTheSpec) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(2).Tuning(api::TuningMode::kAuto));
  cluster.tuning.emplace();
  cluster.tuning->status = {.stage = "Moving", .message = "trying more", .servers = 2, .workers = 4};
  cluster.tuning->state = "{1}";
  cluster.tuning->change = JobSetting{2, 4};
  cluster.tuning->events = {{false, "TuningTrial", "Trying 2 servers, 4 workers"}};
  const std::vector<Step> plan = Plan(cluster.Observe(), cluster.options, cluster.now());
  const auto at = [&](const char* kind) {
    return static_cast<size_t>(
        std::ranges::find_if(plan, [&](const Step& step) { return KindOf(step.action) == kind; }) - plan.begin());
  };
  ASSERT_LT(at("WriteTuningRecord"), at("WriteStatus"));
  ASSERT_LT(at("WriteStatus"), at("PatchJob"));
  ASSERT_LT(at("PatchJob"), plan.size());
  EXPECT_THAT(plan[at("PatchJob")].needs, ElementsAre(at("WriteTuningRecord"))) << "it does not happen without";
  EXPECT_TRUE(std::get<PatchJob>(plan[at("PatchJob")].action).if_job_unchanged) << "a user may have chosen meanwhile";
  const std::vector<std::string> done = cluster.Reconcile();
  EXPECT_EQ(cluster.tuning_state, "{1}");
  EXPECT_EQ(cluster.status().tuning->state, "") << "that is no status";
  EXPECT_THAT(cluster.Condition(api::kTuning), "True/Moving: trying more");
  EXPECT_TRUE(cluster.HasEvent("TuningTrial"));
  EXPECT_THAT(done, Contains(StartsWith("PatchJob {\"servers\":{\"replicas\":2},\"workers\":{\"replicas\":4}}")));
  cluster.tuning->events.clear();
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("a-worker-3"));
}

TEST(Tuning, EndsWithTheJob) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1).Tuning(api::TuningMode::kAuto));
  cluster.tuning.emplace();
  cluster.tuning->status = {.stage = "Moving", .message = "trying more"};
  cluster.tuning->state = "{1}";
  cluster.Settle();
  ASSERT_THAT(cluster.Condition(api::kTuning), "True/Moving: trying more");
  cluster.Exit("a-server-0", 1);
  cluster.Settle();
  ASSERT_NE(cluster.Condition(api::kFailed), "absent");
  EXPECT_THAT(cluster.Condition(api::kTuning), testing::AllOf(StartsWith("False/"), HasSubstr("the job has ended")));
}

TEST(Tuning, ThatIsTurnedOffRecommendsNothingAnyMore) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1).Tuning(api::TuningMode::kRecommend));
  cluster.tuning.emplace();
  cluster.tuning->status = {.stage = "Keeping", .message = "recommends more", .recommended_servers = 2};
  cluster.tuning->state = "{}";
  cluster.Settle();
  ASSERT_TRUE(cluster.status().tuning.has_value());
  cluster.job().spec.tuning.mode = api::TuningMode::kOff;
  cluster.tuning.reset();
  cluster.Settle();
  ASSERT_TRUE(cluster.status().tuning.has_value());
  EXPECT_EQ(cluster.status().tuning->stage, "Off");
  EXPECT_FALSE(cluster.status().tuning->recommended_servers.has_value());
  EXPECT_EQ(cluster.Condition(api::kTuning), "absent");
}

// The coordinator had recovered the rows of server 1 when it was lost itself, and no word of that came. Its last one
// still counts server 1.
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

// By the coordinator, of itself. Its totals begin again with the next one, whose first relief is another one.
TEST(HotServers, EachReliefIsReportedOnce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Workers(1));
  v1::Relief& relief = *cluster.sample.job->mutable_relief();
  relief.set_number(1);
  relief.set_server(1);
  relief.set_times_mean(1.8349);
  relief.set_shards(212);
  relief.add_takers(0);
  relief.add_takers(2);
  cluster.Settle();
  cluster.Settle();
  const auto reliefs = [&] {
    return std::ranges::count(cluster.events(), std::string("RowsRelocated"), &EmitEvent::event_reason);
  };
  EXPECT_EQ(reliefs(), 1);
  EXPECT_EQ(cluster.events().back().note,
            "server-1 answered 1.8 times the mean's keys: 212 shards moved to server-0, server-2");
  EXPECT_EQ(cluster.status().relief->message, cluster.events().back().note);
  relief.set_number(2);
  cluster.Settle();
  EXPECT_EQ(reliefs(), 2);
  cluster.sample.job->set_term(cluster.sample.job->term() + 1);
  relief.set_number(1);
  cluster.Settle();
  EXPECT_EQ(reliefs(), 3);
  cluster.sample.job->clear_relief();
  cluster.Settle();
  EXPECT_EQ(reliefs(), 3);
  EXPECT_TRUE(cluster.status().relief.has_value()) << "the last one stays";
}

// A machine that is lost with two servers on it leaves no pod that has failed.
TEST(ServerLoss, TrainedRowsThatWentBackToTheirFirstValuesEndTheJob) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(3).Backups(1).Workers(1));
  cluster.sample.job->mutable_recovery()->set_count(2);
  cluster.sample.job->mutable_recovery()->set_restored_shards(165);
  cluster.Settle();
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed)) << "nothing had been pushed to them";
  cluster.sample.job->mutable_recovery()->set_steps_lost(28366);
  cluster.Settle();
  ASSERT_TRUE(api::IsTrue(cluster.status(), api::kFailed));
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("(165 shards) went back to their first values: the servers "
                                                         "with their copies were lost at the same time"));
}

TEST(ServerLoss, ShardsThatWentBackToAnEmptyCheckpointAreNotCalledSafe) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
  cluster.sample.job->mutable_recovery()->set_count(1);
  cluster.sample.job->mutable_recovery()->set_restored_shards(512);
  cluster.sample.job->mutable_recovery()->set_checkpoint(1);
  cluster.sample.job->mutable_recovery()->set_steps_lost(609);
  cluster.Settle();
  EXPECT_FALSE(cluster.HasEvent("ServerRecovered"));
  EXPECT_TRUE(cluster.HasEvent("RowsRestored"));
  EXPECT_THAT(cluster.events().back().note,
              HasSubstr("0 rows in 512 shards of a lost server went back to checkpoint 1"));
}

}  // namespace
}  // namespace attune::controller::server_changes_test
