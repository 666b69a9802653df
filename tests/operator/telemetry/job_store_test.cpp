#include "operator/telemetry/job_store.h"

#include <gtest/gtest.h>

#include <limits>

namespace attune::telemetry {
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

class JobStoreTest : public testing::Test {
 protected:
  JobSample Sample() { return store_->Sample("job-uid", now_); }
  void Report(const v1::SidecarHello& hello, const v1::PodReport& report) { store_->Report(hello, report, now_); }

  std::unique_ptr<JobStore> store_ = JobStore::Create();
  MonotonicTime now_{seconds(1000)};
};

TEST_F(JobStoreTest, WhatIsUnderWayEndsWithTheCoordinatorsWords) {
  store_->Connected(Hello("server", 0), now_);
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
  for (uint32_t i : {0U, 1U}) store_->Connected(Hello("worker", i), now_);
  Report(Hello("worker", 0), WorkerReport(300, 1.0));
  Report(Hello("worker", 1), WorkerReport(100, 5.0));
  EXPECT_DOUBLE_EQ(*Sample().loss, 2.0);
  EXPECT_DOUBLE_EQ(Sample().rate, 200);
  EXPECT_EQ(Sample().sample_unit, "words");
  EXPECT_EQ(Sample().steps, 20U);
}

TEST_F(JobStoreTest, AStaleWindowCountsNeitherInLossNorInRate) {
  store_->Connected(Hello("worker", 0), now_);
  Report(Hello("worker", 0), WorkerReport(300, 1.0));
  now_ += JobStore::kStaleAfter + seconds(1);
  EXPECT_FALSE(Sample().loss.has_value());
  EXPECT_EQ(Sample().rate, 0);
  EXPECT_EQ(Sample().pods.size(), 1U) << "but the pod is known";
}

TEST_F(JobStoreTest, TheLastLossOutlivesTheWindowsOfAWorkerThatEvaluates) {
  for (uint32_t i : {0U, 1U}) store_->Connected(Hello("worker", i), now_);
  Report(Hello("worker", 0), WorkerReport(300, 1.0));
  Report(Hello("worker", 1), WorkerReport(100, 5.0));
  v1::PodReport evaluating = WorkerReport(0, 0, 2);
  evaluating.mutable_window()->mutable_worker()->set_steps(0);
  evaluating.mutable_window()->mutable_worker()->set_loss_count(0);
  for (uint32_t i : {0U, 1U}) Report(Hello("worker", i), evaluating);
  EXPECT_FALSE(Sample().loss.has_value()) << "nobody trains";
  ASSERT_TRUE(Sample().last_loss.has_value());
  EXPECT_DOUBLE_EQ(*Sample().last_loss, 2.0);
}

TEST_F(JobStoreTest, AReconnectThatOverlapsTheOldStreamStaysConnected) {
  store_->Connected(Hello("worker", 0), now_);
  store_->Connected(Hello("worker", 0), now_);
  store_->Disconnected(Hello("worker", 0), now_);
  EXPECT_TRUE(Sample().pods[0].connected);
  store_->Disconnected(Hello("worker", 0), now_);
  EXPECT_FALSE(Sample().pods[0].connected);
}

TEST_F(JobStoreTest, ASuccessorTakesThePlaceOfAPodAndItsLateGoodbyeChangesNothing) {
  store_->Connected(Hello("worker", 0, "1"), now_);
  store_->Connected(Hello("worker", 0, "2"), now_);
  store_->Disconnected(Hello("worker", 0, "1"), now_);
  ASSERT_EQ(Sample().pods.size(), 1U);
  EXPECT_TRUE(Sample().pods[0].connected);
}

TEST_F(JobStoreTest, ReportsThatCannotBeTrueAreDroppedAndCounted) {
  store_->Connected(Hello("worker", 0), now_);
  v1::PodReport nan = WorkerReport(1, std::numeric_limits<double>::quiet_NaN());
  v1::PodReport negative = WorkerReport(1, 1);
  negative.mutable_window()->mutable_worker()->set_pull_wait_seconds(-1);
  v1::PodReport endless = WorkerReport(1, 1);
  endless.mutable_window()->set_duration_seconds(1e9);
  for (const auto& lie : {nan, negative, endless, CoordinatorReport(1)}) Report(Hello("worker", 0), lie);
  Report(Hello("server", 0), WorkerReport(1, 1));
  v1::PodReport timeless = CoordinatorReport(1);
  timeless.mutable_window()->mutable_job()->set_trained_seconds(std::numeric_limits<double>::quiet_NaN());
  Report(Hello("server", 0), timeless);
  EXPECT_EQ(store_->dropped_reports(), 6U);
  EXPECT_FALSE(Sample().loss.has_value());
  v1::PodReport no_loss = WorkerReport(1, std::numeric_limits<double>::quiet_NaN());
  no_loss.mutable_window()->mutable_worker()->set_loss_count(0);
  Report(Hello("worker", 0), no_loss);
  EXPECT_EQ(store_->dropped_reports(), 6U) << "a window without loss is fine";
}

TEST_F(JobStoreTest, HistoryStaysBoundedAndCoversTheWholeLife) {
  store_->Connected(Hello("server", 0), now_);
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

TEST_F(JobStoreTest, NewsIsToldOnConnectionFirstReportAndFinalReport) {
  std::vector<std::string> news;
  store_->OnNews([&](const std::string& name_space, const std::string& job) {
    news.push_back(name_space + "/" + job + " " +
                   std::to_string(Sample().pods.size()));  // the listener may ask the store
  });
  store_->Connected(Hello("worker", 0), now_);
  Report(Hello("worker", 0), WorkerReport(1, 1, 1));
  Report(Hello("worker", 0), WorkerReport(1, 1, 2));
  store_->Final(Hello("worker", 0), v1::FinalReport());
  store_->Disconnected(Hello("worker", 0), now_);
  EXPECT_EQ(news, std::vector<std::string>(4, "default/j 1"));
}

TEST_F(JobStoreTest, ASummaryIsThereWhenTheLastWorkerHasLeft) {
  for (uint32_t i : {0U, 1U}) store_->Connected(Hello("worker", i), now_);
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
  store_->Connected(Hello("server", 0), now_);
  store_->Connected(Hello("server", 1), now_);
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
  store_->Connected(Hello("server", 0), now_);
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
  store_->Connected(Hello("server", 0), now_);
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
  store_->Connected(Hello("server", 0), now_);
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

TEST_F(JobStoreTest, AForgottenJobLeavesNothing) {
  store_->Connected(Hello("worker", 0), now_);
  store_->Forget("job-uid");
  EXPECT_TRUE(Sample().pods.empty());
  Report(Hello("worker", 0), WorkerReport(1, 1));
  EXPECT_TRUE(Sample().pods.empty()) << "late words of a stream that still ends do not bring it back";
}

}  // namespace
}  // namespace attune::telemetry
