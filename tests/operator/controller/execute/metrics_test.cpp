#include "operator/controller/execute/metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace attune::controller {
namespace {

// What dashboards and alerts were written against: names, types, help, labels and values of this page stay.
constexpr char kPage[] = R"(# HELP attune_operator_build_info Release of this operator; always 1.
# TYPE attune_operator_build_info gauge
attune_operator_build_info{version="1.2.3"} 1
# HELP attune_jobs TrainingJobs known to this operator.
# TYPE attune_jobs gauge
attune_jobs 2
# HELP attune_job_progress_ratio Part of the goal reached, 0 to 1.
# TYPE attune_job_progress_ratio gauge
attune_job_progress_ratio{job="a",namespace="default"} 0.1
attune_job_progress_ratio{job="b",namespace="t\"e\\a\nm"} 1
# HELP attune_job_loss Training loss over the workers' last windows.
# TYPE attune_job_loss gauge
attune_job_loss{job="a",namespace="default"} 2.125
# HELP attune_job_samples_per_second Samples per second of all workers.
# TYPE attune_job_samples_per_second gauge
attune_job_samples_per_second{job="a",namespace="default"} 353123.456
attune_job_samples_per_second{job="b",namespace="t\"e\\a\nm"} 0
# HELP attune_job_workers Workers that take part, as the coordinator counts them.
# TYPE attune_job_workers gauge
attune_job_workers{job="a",namespace="default"} 3
attune_job_workers{job="b",namespace="t\"e\\a\nm"} 0
# HELP attune_job_pods_resizing Pods that have not been given the cpu and memory asked for, by what is in the way.
# TYPE attune_job_pods_resizing gauge
attune_job_pods_resizing{job="a",namespace="default",state="none"} 5
attune_job_pods_resizing{job="a",namespace="default",state="deferred"} 6
attune_job_pods_resizing{job="a",namespace="default",state="infeasible"} 7
attune_job_pods_resizing{job="b",namespace="t\"e\\a\nm",state="none"} 0
attune_job_pods_resizing{job="b",namespace="t\"e\\a\nm",state="deferred"} 0
attune_job_pods_resizing{job="b",namespace="t\"e\\a\nm",state="infeasible"} 0
# HELP attune_workqueue_depth Jobs waiting to be reconciled.
# TYPE attune_workqueue_depth gauge
attune_workqueue_depth 4
# HELP attune_workqueue_delayed Jobs waiting for their time.
# TYPE attune_workqueue_delayed gauge
attune_workqueue_delayed 5
# HELP attune_workqueue_adds_total Requests to reconcile a job.
# TYPE attune_workqueue_adds_total counter
attune_workqueue_adds_total 12345678
# HELP attune_workqueue_retries_total Reconciles repeated after an error.
# TYPE attune_workqueue_retries_total counter
attune_workqueue_retries_total 7
# HELP attune_workqueue_queue_seconds_total Time jobs spent waiting.
# TYPE attune_workqueue_queue_seconds_total counter
attune_workqueue_queue_seconds_total 0.3333333333333333
# HELP attune_workqueue_work_seconds_total Time spent reconciling.
# TYPE attune_workqueue_work_seconds_total counter
attune_workqueue_work_seconds_total 1e-07
# HELP attune_workqueue_longest_running_seconds Longest reconcile in progress.
# TYPE attune_workqueue_longest_running_seconds gauge
attune_workqueue_longest_running_seconds 0.25
# HELP attune_reconcile_errors_total Reconciles that ended with an error.
# TYPE attune_reconcile_errors_total counter
attune_reconcile_errors_total 11
# HELP attune_plans_total Plans made.
# TYPE attune_plans_total counter
attune_plans_total 1000001
# HELP attune_actions_total Actions tried.
# TYPE attune_actions_total counter
attune_actions_total 13
# HELP attune_failed_actions_total Actions that failed, and are tried again.
# TYPE attune_failed_actions_total counter
attune_failed_actions_total 14
# HELP attune_telemetry_dropped_reports_total Reports of pods that are not known any more.
# TYPE attune_telemetry_dropped_reports_total counter
attune_telemetry_dropped_reports_total 15
# HELP attune_telemetry_implausible_reports_total Reports with parts that cannot be true.
# TYPE attune_telemetry_implausible_reports_total counter
attune_telemetry_implausible_reports_total 16
)";

OperatorMetrics Values() {
  OperatorMetrics values;
  values.version = "1.2.3";
  values.jobs = {{.name_space = "default",
                  .name = "a",
                  .progress = 0.1,
                  .loss = 2.125,
                  .samples_per_second = 353123.456,
                  .workers = 3,
                  .resizing = 5,
                  .resize_deferred = 6,
                  .resize_infeasible = 7},
                 {.name_space = "t\"e\\a\nm", .name = "b", .progress = 1, .loss = {}}};
  values.queue = {.depth = 4,
                  .delayed = 5,
                  .adds = 12345678,
                  .retries = 7,
                  .queue_seconds = 1.0 / 3,
                  .work_seconds = 1e-7,
                  .longest_running_seconds = 0.25};
  values.reconcile_errors = 11;
  values.plans = 1000001;
  values.actions = 13;
  values.failed_actions = 14;
  values.dropped_reports = 15;
  values.implausible_reports = 16;
  return values;
}

// A page in Prometheus' text format, as a scrape understands it: HELP and TYPE lines, and values by name with labels.
struct Scrape {
  std::vector<std::string> comments;
  std::map<std::string, double> samples;
};

Scrape Parse(const std::string& page) {
  Scrape scrape;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) {
      scrape.comments.push_back(line);
      continue;
    }
    const size_t space = line.rfind(' ');
    EXPECT_NE(space, std::string::npos) << line;
    if (space == std::string::npos) continue;
    char* end = nullptr;
    const double value = std::strtod(line.c_str() + space, &end);
    EXPECT_EQ(*end, 0) << line;
    EXPECT_TRUE(scrape.samples.emplace(line.substr(0, space), value).second) << "twice: " << line;
  }
  return scrape;
}

TEST(OperatorMetricsTest, AScrapeIsWhatItWas) {
  const Scrape before = Parse(kPage), now = Parse(MetricsPage(Values()));
  EXPECT_EQ(now.comments, before.comments);
  ASSERT_EQ(now.samples.size(), before.samples.size());
  for (const auto& [series, value] : before.samples) {
    ASSERT_TRUE(now.samples.contains(series)) << series;
    EXPECT_DOUBLE_EQ(now.samples.at(series), value) << series;
  }
}

TEST(OperatorMetricsTest, WithoutJobsEveryMetricIsStillDeclared) {
  const Scrape none = Parse(MetricsPage({}));
  EXPECT_EQ(none.comments, Parse(kPage).comments);
  EXPECT_EQ(none.samples.at("attune_jobs"), 0);
  EXPECT_EQ(MetricsPage({}).find("attune_job_loss{"), std::string::npos);
}

TEST(OperatorMetricsTest, ALossThatIsNoNumberIsNotANumberInTheScrape) {
  OperatorMetrics values = Values();
  values.jobs[0].loss = std::numeric_limits<double>::quiet_NaN();
  const Scrape scrape = Parse(MetricsPage(values));
  EXPECT_NE(scrape.samples.at(R"(attune_job_loss{job="a",namespace="default"})"),
            scrape.samples.at(R"(attune_job_loss{job="a",namespace="default"})"));
}

}  // namespace
}  // namespace attune::controller
