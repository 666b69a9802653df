// What becomes of a job when the server that runs its coordinator ends, leaves, or has not begun: who runs it next, and
// what that one hears. Stories over FakeCluster; when another one is appointed although this one runs is
// coordinator_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "proto/pod_number.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::coordinator_loss_test {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Outcome = telemetry::DirectiveAnswer::Outcome;

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

TEST(Coordinator, TheServersThatItWaitsForAreThereAlsoWhenFewerAreWantedMeanwhile) {
  FakeCluster cluster = Formed(MakeTrainingJob("a").Servers(3).Workers(1).Backups(1));
  cluster.Advance(seconds(10));
  cluster.Settle();
  ASSERT_TRUE(cluster.status().begun) << "its coordinator was not heard for so long";
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  cluster.sample.job.emplace().set_servers(1);  // it has begun again, and the others have not
  *cluster.sample.job->mutable_abilities() = AllAbilities();
  Scale(cluster, 2);
  for (const char* name : {"a-server-1", "a-server-2"}) cluster.Exit(name, 1);
  for (int round = 0; round < 6; ++round) {
    cluster.Settle();
    cluster.Advance(seconds(10));
    cluster.Answer("gone=", Outcome::kDone);
  }
  EXPECT_THAT(Servers(cluster), ElementsAre("a-server-0", "a-server-1", "a-server-2"));
  cluster.StartAll();
  Say(cluster, {kServing, kServing, kServing});
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().back(), "a-server-0 servers=2");
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

// It may have joined before its kubelet says that it runs: whether the job is lost is judged when that had its time.
TEST(Coordinator, AServerWhoseStartIsNotReportedYetMayTakeOver) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Waiting("a-server-1", "ContainerCreating", "");
  cluster.DeleteFromOutside("a-server-0");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), Not(StartsWith("True")));
  cluster.Start("a-server-1");
  cluster.Settle();
  EXPECT_EQ(cluster.status().coordinator, "a-server-1");
}

TEST(Coordinator, AServerThatNeverStartsIsNotWaitedForWhenTheCoordinatorIsLost) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1).Backups(1));
  cluster.Waiting("a-server-1", "ContainerCreating", "");
  cluster.Exit("a-server-0", 137);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), Not(StartsWith("True")));
  ASSERT_TRUE(cluster.requeue()) << "nothing else may happen that would bring the next look";
  EXPECT_LE(*cluster.requeue(), cluster.options.servers_ended_grace);
  cluster.Advance(cluster.options.servers_ended_grace);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kFailed), HasSubstr("no other server can take over"));
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

}  // namespace
}  // namespace attune::controller::coordinator_loss_test
