#include "operator/telemetry/job_store.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <set>
#include <utility>

namespace attune::telemetry::job_store_test {
namespace {

using std::chrono::seconds;

v1::SidecarHello Hello(const std::string& role, uint32_t index, const std::string& incarnation = "1") {
  v1::SidecarHello hello;
  hello.set_namespace_("default");
  hello.set_job("j");
  hello.set_job_uid("job-uid");
  hello.set_role(role);
  hello.set_index(index);
  hello.set_pod("j-" + role + "-" + std::to_string(index));
  hello.set_pod_uid(hello.pod() + "-" + incarnation);
  return hello;
}

v1::PodReport WorkerReport(uint64_t samples, double loss, uint64_t sequence = 1) {
  v1::PodReport report;
  report.mutable_window()->set_sequence(sequence);
  report.mutable_window()->set_duration_seconds(2);
  auto* worker = report.mutable_window()->mutable_worker();
  worker->set_samples(samples);
  worker->set_steps(10);
  worker->set_loss_mean(loss);
  worker->set_loss_count(5);
  worker->set_sample_unit("words");
  return report;
}

v1::PodReport CoordinatorReport(uint64_t items_done) {
  v1::PodReport report;
  report.mutable_window()->set_sequence(1);
  report.mutable_window()->set_duration_seconds(1);
  report.mutable_window()->mutable_server();
  report.mutable_window()->mutable_job()->set_items_total(1'000'000);
  report.mutable_window()->mutable_job()->set_items_done(items_done);
  report.mutable_window()->mutable_job()->set_steps(items_done / 2);
  return report;
}

const JobId kJob{"default", "j", "job-uid"};

class JobStoreTest : public testing::Test {
 protected:
  JobSample Sample() { return store_->Sample(kJob, now_); }
  void Report(const v1::SidecarHello& hello, const v1::PodReport& report) { store_->Report(hello, report, now_); }
  void Connect(const v1::SidecarHello& hello) { EXPECT_TRUE(store_->Connected(hello, now_).ok()); }
  static JobKnown Known(bool yes) { return yes ? JobKnown::kYes : JobKnown::kNo; }

  std::set<JobId> jobs_{kJob};  // that exist
  std::unique_ptr<JobStore> store_ = JobStore::Create([this](const JobId& job) { return Known(jobs_.contains(job)); });
  MonotonicTime now_{seconds(1000)};
};

TEST_F(JobStoreTest, WhatIsUnderWayEndsWithTheCoordinatorsWords) {
  Connect(Hello("server", 0));
  v1::PodReport report = CoordinatorReport(10);
  report.mutable_window()->mutable_job()->mutable_relocation()->set_bytes_left(7);
  report.mutable_window()->mutable_job()->set_slowest_worker(1);
  Report(Hello("server", 0), report);
  now_ += seconds(3);
  EXPECT_TRUE(Sample().job->has_relocation());
  now_ += seconds(1);
  EXPECT_FALSE(Sample().job->has_relocation());
  EXPECT_FALSE(Sample().job->has_slowest_worker());
  EXPECT_EQ(Sample().job->items_done(), 10U);
}

TEST_F(JobStoreTest, LossIsWeightedBySamplesAndRatesAdd) {
  for (uint32_t i : {0U, 1U}) Connect(Hello("worker", i));
  Report(Hello("worker", 0), WorkerReport(300, 1.0));
  Report(Hello("worker", 1), WorkerReport(100, 5.0));
  EXPECT_DOUBLE_EQ(*Sample().loss, 2.0);
  EXPECT_DOUBLE_EQ(Sample().rate, 200);
  EXPECT_EQ(Sample().sample_unit, "words");
  EXPECT_EQ(Sample().steps, 20U);
}

TEST_F(JobStoreTest, AStaleWindowCountsNeitherInLossNorInRate) {
  Connect(Hello("worker", 0));
  Report(Hello("worker", 0), WorkerReport(300, 1.0));
  now_ += JobStore::kStaleAfter + seconds(1);
  EXPECT_FALSE(Sample().loss.has_value());
  EXPECT_EQ(Sample().rate, 0);
  EXPECT_EQ(Sample().pods.size(), 1U) << "but the pod is known";
}

TEST_F(JobStoreTest, TheLastLossOutlivesTheWindowsOfAWorkerThatEvaluates) {
  for (uint32_t i : {0U, 1U}) Connect(Hello("worker", i));
  Report(Hello("worker", 0), WorkerReport(300, 1.0));
  Report(Hello("worker", 1), WorkerReport(100, 5.0));
  v1::PodReport evaluating = WorkerReport(0, 0, 2);
  evaluating.mutable_window()->mutable_worker()->set_steps(0);
  evaluating.mutable_window()->mutable_worker()->set_loss_count(0);
  for (uint32_t i : {0U, 1U}) Report(Hello("worker", i), evaluating);
  EXPECT_FALSE(Sample().loss.has_value()) << "no worker trains";
  ASSERT_TRUE(Sample().last_loss.has_value());
  EXPECT_DOUBLE_EQ(*Sample().last_loss, 2.0);
}

TEST_F(JobStoreTest, AReconnectThatOverlapsTheOldStreamStaysConnected) {
  Connect(Hello("worker", 0));
  Connect(Hello("worker", 0));
  store_->Disconnected(Hello("worker", 0), now_);
  EXPECT_TRUE(Sample().pods[0].connected);
  store_->Disconnected(Hello("worker", 0), now_);
  EXPECT_FALSE(Sample().pods[0].connected);
}

TEST_F(JobStoreTest, ANewStreamIsASignOfLifeAndMakesTheLastReportNoNewer) {
  const auto hello = Hello("server", 0);
  Connect(hello);
  Report(hello, CoordinatorReport(10));
  const MonotonicTime reported_at = now_;
  store_->Disconnected(hello, now_);
  now_ += seconds(8);
  Connect(hello);
  const JobSample sample = Sample();
  ASSERT_EQ(sample.pods.size(), 1U);
  EXPECT_EQ(sample.pods[0].heard_at, now_);
  EXPECT_EQ(sample.pods[0].reported_at, reported_at);
}

TEST_F(JobStoreTest, ASuccessorTakesThePlaceOfAPodAndItsLateGoodbyeChangesNothing) {
  Connect(Hello("worker", 0, "1"));
  Connect(Hello("worker", 0, "2"));
  store_->Disconnected(Hello("worker", 0, "1"), now_);
  ASSERT_EQ(Sample().pods.size(), 1U);
  EXPECT_TRUE(Sample().pods[0].connected);
}

TEST_F(JobStoreTest, HistoryStaysBoundedAndCoversTheWholeLife) {
  Connect(Hello("server", 0));
  for (uint64_t i = 1; i <= 10'000; ++i) {
    now_ += seconds(1);
    Report(Hello("server", 0), CoordinatorReport(i));
    ASSERT_LE(Sample().history.size(), JobStore::kHistoryMax);
  }
  const auto history = Sample().history;
  EXPECT_GE(history.size(), JobStore::kHistoryMax / 4);
  EXPECT_LT(history.front().items_done, 1'000U);
  EXPECT_GT(history.back().items_done, 9'700U);
  for (size_t i = 1; i < history.size(); ++i) EXPECT_LT(history[i - 1].items_done, history[i].items_done);
  EXPECT_EQ(history.back().steps, history.back().items_done / 2) << "as the coordinator counts them";
}

TEST_F(JobStoreTest, ProgressIsWhenAStepWasReportedLast) {
  for (const char* role : {"worker", "server"}) Connect(Hello(role, 0));
  EXPECT_FALSE(Sample().progressed_at);
  Report(Hello("worker", 0), WorkerReport(1, 1, 1));
  const MonotonicTime first = now_;
  now_ += seconds(5);
  v1::PodReport waits = WorkerReport(0, 1, 2);
  waits.mutable_window()->mutable_worker()->set_steps(0);
  Report(Hello("worker", 0), waits);
  Report(Hello("server", 0), CoordinatorReport(10));
  EXPECT_EQ(Sample().progressed_at, first) << "a count that is heard for the first time may be old";
  now_ += seconds(5);
  Report(Hello("server", 0), CoordinatorReport(10));
  EXPECT_EQ(Sample().progressed_at, first);
  Report(Hello("server", 0), CoordinatorReport(20));
  EXPECT_EQ(Sample().progressed_at, now_) << "by the coordinator's count, too: a worker's sidecar may be away";
}

TEST_F(JobStoreTest, NewsIsToldOnConnectionFirstReportAndFinalReport) {
  std::vector<std::string> news;
  store_->OnNews([&](const std::string& name_space, const std::string& job) {
    news.push_back(name_space + "/" + job + " " +
                   std::to_string(Sample().pods.size()));  // the listener may ask the store
  });
  Connect(Hello("worker", 0));
  Report(Hello("worker", 0), WorkerReport(1, 1, 1));
  Report(Hello("worker", 0), WorkerReport(1, 1, 2));
  store_->Final(Hello("worker", 0), v1::FinalReport());
  store_->Disconnected(Hello("worker", 0), now_);
  EXPECT_EQ(news, std::vector<std::string>(4, "default/j 1"));
}

TEST_F(JobStoreTest, ASummaryIsThereWhenTheLastWorkerHasLeft) {
  for (uint32_t i : {0U, 1U}) Connect(Hello("worker", i));
  Report(Hello("worker", 0), WorkerReport(300, 1.0));  // windows of two seconds
  now_ += seconds(4);
  Report(Hello("worker", 1), WorkerReport(300, 3.0));
  for (uint32_t i : {0U, 1U}) store_->Disconnected(Hello("worker", i), now_);
  now_ += JobStore::kStaleAfter + seconds(1);
  const JobSample sample = Sample();
  EXPECT_EQ(sample.rate, 0);
  EXPECT_FALSE(sample.loss.has_value());
  EXPECT_DOUBLE_EQ(sample.mean_rate, 100) << "600 samples from the begin of the first window to the last";
  EXPECT_DOUBLE_EQ(sample.last_loss.value(), 2.0);
  EXPECT_EQ(sample.sample_unit, "words");
}

TEST_F(JobStoreTest, ACoordinatorThatWasReplacedIsNotListenedTo) {
  Connect(Hello("server", 0));
  Connect(Hello("server", 1));
  v1::PodReport old = CoordinatorReport(10), next = CoordinatorReport(20);
  old.mutable_window()->mutable_job()->set_term(1);
  next.mutable_window()->mutable_job()->set_term(2);
  Report(Hello("server", 0), old);
  EXPECT_EQ(Sample().job->items_done(), 10U);
  Report(Hello("server", 1), next);
  Report(Hello("server", 0), old);
  EXPECT_EQ(Sample().job->items_done(), 20U);
}

TEST_F(JobStoreTest, AnswersAreKeptByKeyAndBounded) {
  Connect(Hello("server", 0));
  for (size_t i = 0; i < JobStore::kAnswersMax + 5; ++i) {
    now_ += seconds(1);
    store_->Answered(Hello("server", 0), "key-" + std::to_string(i), {DirectiveAnswer::Outcome::kDone, "done", now_});
  }
  EXPECT_EQ(Sample().answers.size(), JobStore::kAnswersMax);
  EXPECT_FALSE(Sample().answers.contains("key-4")) << "the oldest go";
  EXPECT_TRUE(Sample().answers.contains("key-5"));
}

TEST_F(JobStoreTest, RefusalsInARowAreCounted) {
  using Outcome = DirectiveAnswer::Outcome;
  Connect(Hello("server", 0));
  const auto answered = [&](Outcome outcome) {
    store_->Answered(Hello("server", 0), "key", {outcome, "", now_});
    return Sample().answers.at("key").refusals;
  };
  EXPECT_EQ(answered(Outcome::kRefused), 1U);
  EXPECT_EQ(answered(Outcome::kRefused), 2U);
  EXPECT_EQ(answered(Outcome::kDone), 0U);
  EXPECT_EQ(answered(Outcome::kRefused), 1U);
}

TEST_F(JobStoreTest, WhatTheCoordinatorSaysAnewIsNewsAndItsCountersAreNot) {
  int news = 0;
  Connect(Hello("server", 0));
  store_->OnNews([&](const std::string&, const std::string&) { ++news; });
  v1::PodReport report = CoordinatorReport(10);
  Report(Hello("server", 0), report);
  EXPECT_EQ(news, 1);
  report.mutable_window()->mutable_job()->set_items_done(11);
  Report(Hello("server", 0), report);
  EXPECT_EQ(news, 1);
  report.mutable_window()->mutable_job()->mutable_synchronization()->set_mode(v1::Synchronization::BSP);
  Report(Hello("server", 0), report);
  EXPECT_EQ(news, 2);
}

TEST_F(JobStoreTest, WhatSpeaksForOrAgainstTheCoordinatorIsNewsAtOnce) {
  int news = 0;
  Connect(Hello("server", 1));
  v1::PodReport report = CoordinatorReport(10);
  Report(Hello("server", 1), report);
  store_->OnNews([&](const std::string&, const std::string&) { ++news; });
  const auto said = [&] {
    Report(Hello("server", 1), report);
    return std::exchange(news, 0);
  };
  v1::WindowReport& window = *report.mutable_window();
  window.mutable_server()->set_coordinator_silent_seconds(2.9);
  EXPECT_EQ(said(), 0);
  window.mutable_server()->set_coordinator_silent_seconds(3.1);
  EXPECT_EQ(said(), 1);
  window.mutable_server()->set_coordinator_silent_seconds(4.1);
  EXPECT_EQ(said(), 0) << "known";
  window.mutable_server()->set_coordinator_silent_seconds(0.1);
  EXPECT_EQ(said(), 1);
  window.mutable_leader_lease()->set_held(true);
  EXPECT_EQ(said(), 1);
  window.mutable_leader_lease()->set_map_version(8);
  EXPECT_EQ(said(), 0) << "a newer map alone asks for nothing";
  window.mutable_leader_lease()->add_wanted_voters(1);
  EXPECT_EQ(said(), 1);
  window.mutable_leader_lease()->set_held(false);
  EXPECT_EQ(said(), 1);
}

TEST_F(JobStoreTest, AForgottenJobLeavesNothingAndDoesNotComeBack) {
  ASSERT_TRUE(store_->Connected(Hello("worker", 0), now_).ok());
  jobs_.clear();
  store_->Forget("default", "j");
  EXPECT_TRUE(Sample().pods.empty());
  EXPECT_FALSE(store_->Report(Hello("worker", 0), WorkerReport(1, 1), now_)) << "a stream that still ends";
  EXPECT_FALSE(store_->Final(Hello("worker", 0), v1::FinalReport()));
  store_->Answered(Hello("worker", 0), "key", {DirectiveAnswer::Outcome::kDone, "", now_});
  EXPECT_EQ(store_->Connected(Hello("worker", 1), now_).code(), StatusCode::kPermissionDenied) << "a new stream";
  EXPECT_TRUE(Sample().pods.empty());
  EXPECT_TRUE(Sample().answers.empty());
  EXPECT_EQ(store_->dropped_reports(), 2U);
}

TEST_F(JobStoreTest, ForgettingANameSparesTheJobThatHasItNow) {
  const JobId successor{"default", "j", "uid-2"}, neighbour{"default", "k", "uid-3"};
  jobs_ = {kJob, successor, neighbour};
  for (const JobId& job : jobs_) {
    v1::SidecarHello hello = Hello("worker", 0);
    hello.set_job(job.name);
    hello.set_job_uid(job.uid);
    ASSERT_TRUE(store_->Connected(hello, now_).ok());
  }
  store_->Forget("default", "j", successor.uid);
  EXPECT_TRUE(Sample().pods.empty());
  EXPECT_EQ(store_->Sample(successor, now_).pods.size(), 1U);
  EXPECT_EQ(store_->Sample(neighbour, now_).pods.size(), 1U);
}

TEST_F(JobStoreTest, APodOfAnotherNamespaceCannotWriteAJobWhoseUidItKnows) {
  ASSERT_TRUE(store_->Connected(Hello("server", 0), now_).ok());
  v1::SidecarHello stranger = Hello("server", 0);
  stranger.set_namespace_("elsewhere");
  EXPECT_EQ(store_->Connected(stranger, now_).code(), StatusCode::kPermissionDenied);
  EXPECT_FALSE(store_->Report(stranger, CoordinatorReport(7), now_));
  EXPECT_FALSE(Sample().job.has_value());
}

TEST_F(JobStoreTest, BeforeTheFirstListOfJobsASidecarIsAskedToTryAgain) {
  const auto store = JobStore::Create([](const JobId&) { return JobKnown::kNotYet; });
  EXPECT_EQ(store->Connected(Hello("worker", 0), now_).code(), StatusCode::kUnavailable);
}

TEST_F(JobStoreTest, PodsThatComeAndGoUnderNewNamesLeaveNoTrace) {
  for (int incarnation = 0; incarnation < 10'000; ++incarnation) {
    now_ += seconds(1);
    v1::SidecarHello hello = Hello("worker", 0, std::to_string(incarnation));
    hello.set_pod(hello.pod_uid());
    ASSERT_TRUE(store_->Connected(hello, now_).ok());
    store_->Disconnected(hello, now_);
  }
  EXPECT_EQ(Sample().pods.size(), 1U);
  // Another index each time: those not heard of for longest give way, and none is turned away.
  for (uint32_t index = 0; index < 2 * JobStore::kPodsPerJobMax; ++index) {
    now_ += seconds(1);
    ASSERT_TRUE(store_->Connected(Hello("worker", index), now_).ok());
    store_->Disconnected(Hello("worker", index), now_);
  }
  EXPECT_EQ(Sample().pods.size(), JobStore::kPodsPerJobMax);
}

// In bytes allocated and not freed. Allocators keep freed memory, so the process' size would say little.
size_t BytesInUse() { return mallinfo2().uordblks; }

TEST_F(JobStoreTest, TenThousandJobsCreatedAndDeletedEndWhereMemoryBegan) {
  const auto live_and_die = [&](int number) {
    const JobId job{"default", "job-" + std::to_string(number), "uid-" + std::to_string(number)};
    jobs_.insert(job);
    for (const char* role : {"server", "worker"}) {
      v1::SidecarHello hello = Hello(role, 0);
      hello.set_job(job.name);
      hello.set_job_uid(job.uid);
      ASSERT_TRUE(store_->Connected(hello, now_).ok());
      for (uint64_t i = 1; i < 4; ++i) {
        store_->Report(hello, role == std::string("server") ? CoordinatorReport(i) : WorkerReport(i, 1, i), now_);
      }
      store_->Answered(hello, "key", {DirectiveAnswer::Outcome::kDone, "done", now_});
      jobs_.erase(job);
      store_->Forget(job.name_space, job.name);
      store_->Report(hello, WorkerReport(1, 1), now_);  // late words
      store_->Connected(hello, now_).IgnoreError();
      store_->Disconnected(hello, now_);
      jobs_.insert(job);
    }
    jobs_.erase(job);
    store_->Forget(job.name_space, job.name);
  };
  for (int i = 0; i < 100; ++i) live_and_die(i);
  const size_t before = BytesInUse();
  for (int i = 100; i < 10'100; ++i) live_and_die(i);
  EXPECT_LE(BytesInUse(), before + before / 20);
}

}  // namespace
}  // namespace attune::telemetry::job_store_test
