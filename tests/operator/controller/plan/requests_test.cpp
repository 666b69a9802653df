// What users, or the tuner, ask of the running processes of a job: pace, threads, checkpoints. As stories over
// FakeCluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "operator/controller/plan/requests/checkpoint_interval.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::requests_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Outcome = telemetry::DirectiveAnswer::Outcome;

TEST(Requests, AnotherModeIsAskedForAndToldWhenItIsInForce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.synchronization = api::ToManifest(SyncMode::Ssp(4));
  ++cluster.job().generation;
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-server-0 synchronization=SSP(4)"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("True/SwitchingSynchronization"));
  cluster.sample.job->mutable_synchronization()->set_mode(v1::Synchronization::SSP);
  cluster.sample.job->mutable_synchronization()->set_staleness(4);
  cluster.Settle();
  EXPECT_EQ(cluster.status().synchronization, api::ToManifest(SyncMode::Ssp(4)));
  EXPECT_THAT(cluster.events().back().note, StartsWith("Workers keep pace by SSP(4) now (before: Async)"));
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));
}

TEST(Requests, AModeThatIsRefusedOrImpossibleIsSaid) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.synchronization = api::ToManifest(SyncMode::Bsp());
  cluster.Settle();
  cluster.Answer("synchronization=BSP", Outcome::kRefused, "worker 1 did not answer in time");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/SynchronizationRefused: switching to BSP did not succeed: worker 1 did not answer"));

  FakeCluster unable = Running(MakeTrainingJob("b").Servers(1).Workers(1), v1::Abilities());
  unable.job().spec.synchronization = api::ToManifest(SyncMode::Bsp());
  unable.Settle();
  EXPECT_THAT(unable.sent_texts(), IsEmpty());
  EXPECT_THAT(unable.Condition(api::kReconfiguring), HasSubstr("cannot switch to BSP and continue with Async"));
}

TEST(Requests, WhatWorkersMakeOfAnnouncedRowsIsAskedForUntilItIsInForce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
  cluster.job().spec.row_management = RowManagement::kStatic;
  ++cluster.job().generation;
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-server-0 rowManagement=Static"));
  cluster.Answer("rowManagement=Static", Outcome::kRefused, "the job is finished");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring),
              StartsWith("False/RowManagementRefused: rowManagement Static did not come into force: the job is"));
  cluster.sample.job->mutable_announcements()->set_management(v1::ROW_MANAGEMENT_STATIC);
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kReconfiguring), StartsWith("False/Settled"));

  FakeCluster unable = Running(MakeTrainingJob("b").Servers(1).Workers(1), v1::Abilities());
  unable.job().spec.row_management = RowManagement::kAlways;
  unable.Settle();
  EXPECT_THAT(unable.sent_texts(), IsEmpty());
  EXPECT_THAT(unable.Condition(api::kReconfiguring), HasSubstr("cannot change what workers make of announced rows"));
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
  EXPECT_THAT(cluster.sent_texts(), IsEmpty()) << "as their program begins";
  cluster.job().spec.worker_threads = 2;
  ++cluster.job().generation;
  Say(cluster, "a-worker-1", 2, 8);  // does so already
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-worker-0 threads=2"));
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
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-worker-0 threads=2", "a-worker-2 threads=2"));
}

TEST(Requests, ThreadsThatAWorkerDoesNotTakeAreSaid) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Say(cluster, "a-worker-0", 0, 0);
  cluster.job().spec.worker_threads = 9;
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
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

TEST(Requests, APodThatLeftDoesNotRefuseThreads) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  Say(cluster, "a-worker-0", 1, 8);
  cluster.sample.pods.push_back(cluster.sample.pods.back());
  cluster.sample.pods.back().pod = "a-worker-7";  // its last report is still known
  Say(cluster, "a-worker-7", 0, 0);
  cluster.job().spec.worker_threads = 2;
  ++cluster.job().generation;
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-worker-0 threads=2"));
  EXPECT_FALSE(cluster.HasEvent("ThreadsRefused"));
}

TEST(Requests, EachCheckpointRequestIsCarriedOutOnce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().checkpoint_request = "before lunch";
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), ElementsAre("a-server-0 checkpoint=before lunch"));
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
  EXPECT_EQ(cluster.sent_texts().size(), 1U) << "also for a restarted operator";
}

TEST(Requests, CheckpointsFollowTheirInterval) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.checkpoint.interval_seconds = 600;
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
  cluster.Advance(seconds(601));
  cluster.Settle();
  ASSERT_EQ(cluster.sent_texts().size(), 1U);
  EXPECT_THAT(cluster.sent_texts()[0], StartsWith("a-server-0 checkpoint after "));
  cluster.Answer("checkpoint after", Outcome::kRefused, "disk full");
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->regular_message, "disk full");
  EXPECT_EQ(cluster.status().checkpoint->message, "") << "no user has asked for one";
  EXPECT_TRUE(cluster.HasEvent("CheckpointFailed"));
  const size_t events = cluster.events().size();
  cluster.Settle();
  EXPECT_EQ(cluster.events().size(), events) << "reported once";
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U) << "tried again";
  cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
  cluster.sample.job->mutable_checkpoint()->set_number(1);
  cluster.sample.job->mutable_checkpoint()->set_complete_unix_seconds(Seconds(cluster.now().wall.time_since_epoch()));
  cluster.Answer("checkpoint after", Outcome::kDone);
  cluster.Settle();
  cluster.Advance(seconds(599));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
  cluster.Advance(seconds(2));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 3U);
  cluster.Answer("checkpoint after", Outcome::kDone);
  cluster.sample.job->set_goal_reached(true);
  cluster.Advance(seconds(2'000));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 3U) << "the model is saved now, and soon no process is there to ask";
}

TEST(Requests, AJobThatStatesNoIntervalGetsOneWhereItHelps) {
  struct Case {
    const char* name;
    std::function<void(api::TrainingJobSpec&)> states;
    std::optional<double> took;  // the last checkpoint; unset: there was none yet
    std::optional<seconds> want;
    bool is_default = true;
  };
  constexpr std::nullopt_t kOnlyWhenAskedFor = std::nullopt;
  const auto directory = [](api::TrainingJobSpec& spec) { spec.checkpoint.directory = "/c"; };
  for (const Case& c : std::initializer_list<Case>{
           {"nowhere to keep one beyond its pods", [](api::TrainingJobSpec&) {}, {}, kOnlyWhenAskedFor},
           {"a directory", directory, {}, seconds(600)},
           {"a claim for the model", [](api::TrainingJobSpec& spec) { spec.model.claim = "models"; }, {}, seconds(600)},
           {"backups",
            [](api::TrainingJobSpec& spec) { spec.checkpoint.directory = "/c", spec.backups = 1; },
            {},
            kOnlyWhenAskedFor},
           {"an interval",
            [](api::TrainingJobSpec& spec) { spec.checkpoint.interval_seconds = 7; },
            {},
            seconds(7),
            false},
           {"none, with a directory",
            [](api::TrainingJobSpec& spec) { spec.checkpoint.directory = "/c", spec.checkpoint.interval_seconds = 0; },
            {},
            kOnlyWhenAskedFor},
           {"the last one took a moment", directory, 0.2, seconds(300)},
           {"the last one took a while", directory, 20, seconds(1000)},
           {"the last one took long", directory, 110, seconds(3600)},
       }) {
    SCOPED_TRACE(c.name);
    api::TrainingJob job;
    c.states(job.spec);
    if (c.took) job.status.checkpoint = {.time = "2026-01-01T00:00:00Z", .seconds = c.took};
    const auto schedule = ScheduleOf(job, {});
    ASSERT_EQ(schedule.has_value(), c.want.has_value());
    if (!schedule) continue;
    EXPECT_EQ(schedule->interval, *c.want);
    EXPECT_EQ(schedule->is_default, c.is_default);
  }
  api::TrainingJob job;
  EXPECT_TRUE(ScheduleOf(job, {.default_model_claim = "model"})) << "a local run";
}

TEST(Requests, ALongJobWithoutBackupsWritesCheckpointsByItself) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
  cluster.job().spec.checkpoint.directory = "/c";
  cluster.Settle();
  cluster.Advance(seconds(590));
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), IsEmpty());
  EXPECT_EQ(cluster.status().checkpoint->interval_seconds, 600);
  cluster.Advance(seconds(15));
  cluster.Settle();
  ASSERT_EQ(cluster.sent_texts().size(), 1U);
  cluster.Answer("checkpoint after", Outcome::kRefused, "disk full");
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->regular_message, "disk full");
  cluster.Advance(seconds(300));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 1U) << "no user has asked for it: not before its time";
  cluster.Advance(seconds(310));
  cluster.Settle();
  ASSERT_EQ(cluster.sent_texts().size(), 2U);
  cluster.Advance(seconds(20));  // to write it
  cluster.sample.job->mutable_checkpoint()->set_directory("/c");
  cluster.sample.job->mutable_checkpoint()->set_number(1);
  cluster.sample.job->mutable_checkpoint()->set_complete_unix_seconds(Seconds(cluster.now().wall.time_since_epoch()));
  cluster.Answer("checkpoint after", Outcome::kDone);
  cluster.Settle();
  cluster.Settle();
  EXPECT_EQ(cluster.status().checkpoint->regular_message, "");
  EXPECT_NEAR(cluster.status().checkpoint->seconds.value_or(0), 20, 1);
  EXPECT_NEAR(static_cast<double>(*cluster.status().checkpoint->interval_seconds), 1000, 50);
  cluster.Advance(seconds(900));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 2U);
  cluster.Advance(seconds(200));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 3U);
}

TEST(Requests, TheClockOfTheCoordinatorsMachineMovesNoCheckpoint) {
  for (const seconds ahead : {seconds(3600), seconds(-3600)}) {
    SCOPED_TRACE(ahead.count());
    FakeCluster cluster = Running(MakeTrainingJob("a").Servers(1).Workers(1));
    cluster.job().spec.checkpoint.interval_seconds = 600;
    cluster.Settle();
    cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
    cluster.sample.job->mutable_checkpoint()->set_number(1);
    cluster.sample.job->mutable_checkpoint()->set_complete_unix_seconds(
        Seconds((cluster.now().wall + ahead).time_since_epoch()));
    cluster.Settle();
    cluster.Advance(seconds(590));
    cluster.Settle();
    EXPECT_THAT(cluster.sent_texts(), IsEmpty());
    cluster.Advance(seconds(20));
    cluster.Settle();
    EXPECT_EQ(cluster.sent_texts().size(), 1U);
  }
}

// The first coordinator was stopped when it was asked, and is succeeded before it runs again.
TEST(Requests, WhatACoordinatorLeavesUnansweredIsAskedOfTheNextOneAtOnce) {
  FakeCluster cluster = Running(MakeTrainingJob("a").Servers(2).Workers(1));
  cluster.job().spec.checkpoint.interval_seconds = 600;
  cluster.Advance(seconds(601));
  cluster.Settle();
  ASSERT_EQ(cluster.sent_texts().size(), 1U);
  EXPECT_THAT(cluster.sent_texts()[0], StartsWith("a-server-0 checkpoint after "));
  cluster.Advance(seconds(1));
  cluster.Settle();
  EXPECT_EQ(cluster.sent_texts().size(), 1U) << "it may still answer";
  cluster.job().status.coordinator = "a-server-1";
  cluster.job().status.coordinator_term = 1;
  cluster.sample.job->set_term(1);
  cluster.Settle();
  ASSERT_EQ(cluster.sent_texts().size(), 2U);
  EXPECT_THAT(cluster.sent_texts()[1], StartsWith("a-server-1 checkpoint after "));
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

}  // namespace
}  // namespace attune::controller::requests_test
