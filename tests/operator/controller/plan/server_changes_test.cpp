// Servers that join, leave, are lost and replaced; what becomes of a coordinator's server is coordinator_loss_test.cpp.
// As stories over FakeCluster.
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
