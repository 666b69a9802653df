// A job that stands still says so, names whom it waits for, and restarts it after its deadline.
#include "operator/controller/plan/standstill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::standstill_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

// Two servers and two workers in the middle of their training.
class StandstillTest : public testing::Test {
 protected:
  void Begin(int32_t backups = 0) {
    cluster_.emplace(Running(MakeTrainingJob("j").Servers(2).Backups(backups).Workers(2)));
    cluster_->job().spec.goal.epochs = 1;
    cluster_->sample.job->set_workers(2);
    cluster_->sample.job->set_items_total(1000);
    cluster_->sample.progressed_at = cluster_->now().monotonic;
    Pass(seconds(3));
  }

  // All but `silent_` report; steps end unless `stands_`.
  void Pass(seconds time) {
    for (seconds passed{}; passed < time; passed += seconds(1)) {
      cluster_->Advance(seconds(1));
      v1::JobWindow& window = *cluster_->sample.job;
      if (!stands_) {
        cluster_->sample.progressed_at = cluster_->now().monotonic;
        window.set_items_done(window.items_done() + 10);
        cluster_->sample.history.push_back({cluster_->now().monotonic, window.items_done(), window.items_done()});
      }
      for (telemetry::PodSample& sample : cluster_->sample.pods) {
        if (silent_.contains(sample.pod) || !cluster_->Has(sample.pod)) continue;
        sample.pod_uid = kube::Uid(cluster_->pod(sample.pod));
        sample.heard_at = sample.reported_at = cluster_->now().monotonic;
        sample.window.set_sequence(sample.window.sequence() + 1);
      }
      cluster_->Settle();
    }
  }
  // What was restarted runs, is connected, and has joined.
  void StartAgain() {
    for (int round = 0; round < 3; ++round) {
      cluster_->ConfirmDeletions();
      cluster_->Settle();
      cluster_->StartAll();
    }
    for (const std::string& name : cluster_->PodNames()) cluster_->Connect(name);
    cluster_->Settle();
  }
  // The next one hears everyone, and that there were steps.
  void RestartOperator() {
    telemetry::JobSample before = cluster_->sample;
    cluster_->RestartOperator();
    cluster_->sample.job = before.job;
    cluster_->sample.job->set_steps(50);
    cluster_->sample.pods = before.pods;
  }
  void Stop(const std::string& pod) { silent_.insert(pod); }
  int Events(const std::string& reason) {
    return static_cast<int>(std::ranges::count(cluster_->events(), reason, &EmitEvent::event_reason));
  }

  std::optional<FakeCluster> cluster_;
  std::set<std::string> silent_;
  bool stands_ = false;
};

TEST_F(StandstillTest, AStoppedServerIsNamedWithinTenSecondsAndTheTimeLeftIsWithheld) {
  Begin();
  Pass(seconds(20));
  ASSERT_TRUE(cluster_->status().progress->remaining_seconds);
  EXPECT_EQ(cluster_->Condition(api::kProgressing), "absent");
  Stop("j-server-1");
  stands_ = true;
  Pass(seconds(9));
  EXPECT_THAT(cluster_->Condition(api::kProgressing),
              StartsWith("False/NoProgress: no step ends: j-server-1 is not heard of, since "));
  EXPECT_THAT(cluster_->Condition(api::kReady), StartsWith("False/ProcessNotHeard: j-server-1 runs, and"));
  EXPECT_EQ(cluster_->status().servers.ready, 1);
  EXPECT_FALSE(cluster_->status().progress->remaining_seconds);
  Pass(seconds(30));
  EXPECT_EQ(Events("NoProgress"), 1) << "once";
  silent_.clear();
  stands_ = false;
  Pass(seconds(2));
  EXPECT_THAT(cluster_->Condition(api::kProgressing), StartsWith("True/StepsEnd"));
  EXPECT_THAT(cluster_->Condition(api::kReady), StartsWith("True/"));
  EXPECT_EQ(Events("Progressing"), 1);
  EXPECT_TRUE(cluster_->status().progress->remaining_seconds);
}

TEST_F(StandstillTest, AStoppedWorkerIsNamedThoughTheOthersGoOn) {
  Begin();
  Stop("j-worker-1");
  Pass(seconds(9));
  EXPECT_THAT(cluster_->Condition(api::kProgressing),
              StartsWith("True/ProcessNotHeard: j-worker-1 is not heard of, while the others train, since "));
  EXPECT_EQ(cluster_->status().workers.ready, 1);
  EXPECT_THAT(cluster_->Condition(api::kWorkersReady), StartsWith("False/ProcessNotHeard"));
  EXPECT_EQ(Events("ProcessNotHeard"), 1);
}

TEST_F(StandstillTest, WhoThePaceWaitsForIsNamedWhenEveryoneReports) {
  Begin();
  cluster_->sample.job->set_slowest_worker(1);
  stands_ = true;
  Pass(seconds(9));
  EXPECT_THAT(cluster_->Condition(api::kProgressing),
              StartsWith("False/NoProgress: no step ends: j-worker-1 is waited for, since "));
}

TEST_F(StandstillTest, NothingIsSaidOf) {
  struct Case {
    const char* name;
    std::function<void()> happens;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"a step that takes as long as others did",
            [&] {
              cluster_->sample.pods.back().step_seconds_max = 20;
              stands_ = true;
            }},
           {"the time before the first step",
            [&] {
              cluster_->sample.progressed_at.reset();
              stands_ = true;
            }},
           {"closing work", [&] { cluster_->ReachGoal("evaluate"), stands_ = true; }},
           {"an operator that hears no process",
            [&] {
              for (const std::string& name : cluster_->PodNames()) Stop(name);
              stands_ = true;
            }},
       }) {
    SCOPED_TRACE(c.name);
    silent_.clear();
    stands_ = false;
    Begin();
    c.happens();
    Pass(seconds(30));
    EXPECT_EQ(cluster_->Condition(api::kProgressing), "absent");
  }
}

TEST_F(StandstillTest, AWorkerThatHangsIsRestartedAfterTheDeadline) {
  Begin();
  cluster_->job().spec.run_policy.progress_deadline_seconds = 60;
  cluster_->sample.job->set_slowest_worker(1);  // it reports, and ends no step
  stands_ = true;
  const std::string hung(kube::Uid(cluster_->pod("j-worker-1")));
  Pass(seconds(55));
  EXPECT_EQ(kube::Uid(cluster_->pod("j-worker-1")), hung);
  Pass(seconds(20));
  EXPECT_NE(kube::Uid(cluster_->pod("j-worker-1")), hung);
  EXPECT_TRUE(cluster_->HasEvent(kEventProcessHung));
}

TEST_F(StandstillTest, AProgramThatHangsAfterEachRestartEndsTheJobInTheEnd) {
  Begin();
  cluster_->job().spec.run_policy.progress_deadline_seconds = 60;
  cluster_->job().spec.run_policy.backoff_limit = 2;
  cluster_->sample.job->set_slowest_worker(1);
  stands_ = true;
  const auto restarts = [&] { return cluster_->status().standstill ? cluster_->status().standstill->restarts : 0; };
  Pass(seconds(75));
  EXPECT_EQ(restarts(), 1);
  const std::string second(kube::Uid(cluster_->pod("j-worker-1")));
  StartAgain();
  Pass(seconds(40));
  EXPECT_EQ(kube::Uid(cluster_->pod("j-worker-1")), second) << "it has its own time";
  EXPECT_EQ(restarts(), 1);
  Pass(seconds(30));
  EXPECT_EQ(restarts(), 2);
  StartAgain();
  RestartOperator();
  Pass(seconds(55));
  EXPECT_EQ(restarts(), 2) << "also for an operator that has just begun";
  EXPECT_THAT(cluster_->Condition(api::kProgressing), StartsWith("False/NoProgress")) << "it has seen no step end";
  EXPECT_EQ(cluster_->Condition(api::kFailed), "absent");
  Pass(seconds(20));
  const std::string failed = cluster_->Condition(api::kFailed);
  EXPECT_THAT(failed, StartsWith("True/ProgressDeadlineExceeded: no step has ended for 60 s"));
  EXPECT_THAT(failed, HasSubstr("j-worker-1 is waited for, after 2 restarts in a row"));
  EXPECT_THAT(failed, HasSubstr("`attune logs j`"));
  EXPECT_EQ(Events(kEventProcessHung), 2);
}

TEST_F(StandstillTest, StepsBetweenRestartsBeginTheCountAgain) {
  Begin();
  cluster_->job().spec.run_policy.progress_deadline_seconds = 60;
  cluster_->job().spec.run_policy.backoff_limit = 1;
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    cluster_->sample.job->set_slowest_worker(1);
    stands_ = true;
    Pass(seconds(75));
    ASSERT_TRUE(cluster_->status().standstill);
    EXPECT_EQ(cluster_->status().standstill->restarts, 1);
    StartAgain();
    stands_ = false;
    Pass(seconds(20));
    EXPECT_TRUE(cluster_->status().standstill) << "a few steps, and it may hang again";
    Pass(seconds(60));
    EXPECT_FALSE(cluster_->status().standstill);
  }
  EXPECT_EQ(cluster_->Condition(api::kFailed), "absent");
  EXPECT_EQ(Events(kEventProcessHung), 3);
}

TEST_F(StandstillTest, ThoseThatHangTogetherAreOneRestart) {
  Begin();
  cluster_->job().spec.run_policy.progress_deadline_seconds = 60;
  cluster_->job().spec.run_policy.backoff_limit = 1;
  const std::string first(kube::Uid(cluster_->pod("j-worker-0"))), second(kube::Uid(cluster_->pod("j-worker-1")));
  Stop("j-worker-0");
  Stop("j-worker-1");
  stands_ = true;
  Pass(seconds(75));
  EXPECT_EQ(cluster_->status().standstill->restarts, 1);
  EXPECT_NE(kube::Uid(cluster_->pod("j-worker-0")), first);
  EXPECT_NE(kube::Uid(cluster_->pod("j-worker-1")), second);
  EXPECT_EQ(cluster_->Condition(api::kFailed), "absent");
}

TEST_F(StandstillTest, AServerThatHangsWithTheOnlyCopyEndsTheJobAfterTheDeadlineAndNotBefore) {
  Begin();
  cluster_->job().spec.run_policy.progress_deadline_seconds = 60;
  Stop("j-server-1");
  stands_ = true;
  Pass(seconds(55));
  EXPECT_EQ(cluster_->Condition(api::kFailed), "absent");
  Pass(seconds(10));
  EXPECT_THAT(cluster_->Condition(api::kFailed), StartsWith("True/ServerLost: j-server-1 hangs"));
  EXPECT_THAT(cluster_->Condition(api::kFailed), HasSubstr("runPolicy.progressDeadlineSeconds (60)"));
}

TEST_F(StandstillTest, WithoutADeadlineNothingIsRestarted) {
  Begin();
  cluster_->job().spec.run_policy.progress_deadline_seconds = 0;
  Stop("j-server-1");
  stands_ = true;
  Pass(seconds(1000));
  EXPECT_EQ(cluster_->Condition(api::kFailed), "absent");
}

TEST_F(StandstillTest, MetricsThatHaveStoppedAreNotAvailable) {
  Begin();
  EXPECT_THAT(cluster_->Condition(api::kMetricsAvailable), StartsWith("True/"));
  for (const std::string& name : cluster_->PodNames()) Stop(name);  // their sidecars are connected, and say nothing
  Pass(seconds(30));
  EXPECT_THAT(cluster_->Condition(api::kMetricsAvailable), StartsWith("False/"));
}

}  // namespace
}  // namespace attune::controller::standstill_test
