#include "operator/controller/metrics/metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace attune::controller::metrics_test {
namespace {

// What dashboards and alerts were written against: names, types, help, labels and values of this page stay.
constexpr char kPage[] = R"(# HELP attune_operator_build_info Release of this operator; always 1.
# TYPE attune_operator_build_info gauge
attune_operator_build_info{version="1.2.3"} 1
# HELP attune_jobs TrainingJobs known to this operator.
# TYPE attune_jobs gauge
attune_jobs 2
# HELP attune_job_phase 1 for the phase that the job is in.
# TYPE attune_job_phase gauge
attune_job_phase{job="a",namespace="default",phase="Running"} 1
# HELP attune_job_condition Conditions of the status: 1 True, 0 False; one that is Unknown has no series.
# TYPE attune_job_condition gauge
attune_job_condition{job="a",namespace="default",condition="Ready"} 1
attune_job_condition{job="a",namespace="default",condition="Reconfiguring"} 0
# HELP attune_job_progress_ratio Part of the goal reached, 0 to 1.
# TYPE attune_job_progress_ratio gauge
attune_job_progress_ratio{job="a",namespace="default"} 0.1
attune_job_progress_ratio{job="b",namespace="t\"e\\a\nm"} 0
# HELP attune_job_remaining_seconds Time to the goal, and the bounds of its 90 % interval.
# TYPE attune_job_remaining_seconds gauge
attune_job_remaining_seconds{job="a",namespace="default",bound="expected"} 1500
attune_job_remaining_seconds{job="a",namespace="default",bound="low"} 1200.5
attune_job_remaining_seconds{job="a",namespace="default",bound="high"} 2000
# HELP attune_job_pods Pods that exist and are not on their way out.
# TYPE attune_job_pods gauge
attune_job_pods{job="a",namespace="default",role="server"} 2
attune_job_pods{job="a",namespace="default",role="worker"} 4
# HELP attune_job_ready_pods Pods that are ready.
# TYPE attune_job_ready_pods gauge
attune_job_ready_pods{job="a",namespace="default",role="server"} 2
attune_job_ready_pods{job="a",namespace="default",role="worker"} 3
# HELP attune_job_failed_pods_total Failures of pods so far.
# TYPE attune_job_failed_pods_total counter
attune_job_failed_pods_total{job="a",namespace="default",role="worker"} 1
# HELP attune_job_setting The setting in force, by knob; slack 0 is BSP, 1000000 Async.
# TYPE attune_job_setting gauge
attune_job_setting{job="a",namespace="default",knob="servers"} 2
attune_job_setting{job="a",namespace="default",knob="workers"} 4
attune_job_setting{job="a",namespace="default",knob="slack"} 1000000
# HELP attune_job_setting_changes_total Changes of setting by the tuner so far.
# TYPE attune_job_setting_changes_total counter
attune_job_setting_changes_total{job="a",namespace="default"} 3
# HELP attune_job_last_change_outcome 1 for what became of the tuner's last change; Open while it is tried.
# TYPE attune_job_last_change_outcome gauge
attune_job_last_change_outcome{job="a",namespace="default",outcome="Kept"} 1
# HELP attune_job_last_change_speedup_ratio Rate that the last change was to give, and gave, over the best one before.
# TYPE attune_job_last_change_speedup_ratio gauge
attune_job_last_change_speedup_ratio{job="a",namespace="default",estimate="expected"} 1.25
attune_job_last_change_speedup_ratio{job="a",namespace="default",estimate="measured"} 1.5
# HELP attune_job_last_change_cost_seconds Time at full rate that the last change was expected to cost.
# TYPE attune_job_last_change_cost_seconds gauge
attune_job_last_change_cost_seconds{job="a",namespace="default"} 12.5
# HELP attune_job_policy_refusals_total Times that a policy kept the tuner from a change.
# TYPE attune_job_policy_refusals_total counter
attune_job_policy_refusals_total{job="a",namespace="default"} 4
# HELP attune_job_memory_use_ratio Memory of the fullest pod, as part of its limit.
# TYPE attune_job_memory_use_ratio gauge
attune_job_memory_use_ratio{job="a",namespace="default",role="server"} 0.75
# HELP attune_job_throttled_ratio Part of the time that a limit of CPU held pods up, the mean.
# TYPE attune_job_throttled_ratio gauge
attune_job_throttled_ratio{job="a",namespace="default",role="worker"} 0.61
# HELP attune_job_start_timestamp_seconds When the job began, Unix time.
# TYPE attune_job_start_timestamp_seconds gauge
attune_job_start_timestamp_seconds{job="a",namespace="default"} 1764284400
# HELP attune_job_checkpoint_timestamp_seconds When the newest checkpoint was complete, Unix time.
# TYPE attune_job_checkpoint_timestamp_seconds gauge
attune_job_checkpoint_timestamp_seconds{job="a",namespace="default"} 1764288000
# HELP attune_job_checkpoint_interval_seconds Time between regular checkpoints; absent: there are none.
# TYPE attune_job_checkpoint_interval_seconds gauge
attune_job_checkpoint_interval_seconds{job="a",namespace="default"} 300
# HELP attune_job_restorations_total Times that rows went back to a checkpoint, or to their first values.
# TYPE attune_job_restorations_total counter
attune_job_restorations_total{job="a",namespace="default"} 1
# HELP attune_job_announcements_ignored 1 while workers ignore the rows that programs announce, else 0.
# TYPE attune_job_announcements_ignored gauge
attune_job_announcements_ignored{job="a",namespace="default"} 1
# HELP attune_job_announcements_speedup_ratio Rate with announced rows acted on, over that with them ignored.
# TYPE attune_job_announcements_speedup_ratio gauge
attune_job_announcements_speedup_ratio{job="a",namespace="default"} 0.8
# HELP attune_job_policy_conflict 1 while its tuning policies conflict, else 0.
# TYPE attune_job_policy_conflict gauge
attune_job_policy_conflict{job="a",namespace="default"} 0
# HELP attune_job_loss Training loss over the workers' last windows.
# TYPE attune_job_loss gauge
attune_job_loss{job="a",namespace="default"} 2.125
# HELP attune_job_samples_per_second Samples per second of all workers.
# TYPE attune_job_samples_per_second gauge
attune_job_samples_per_second{job="a",namespace="default"} 353123.456
attune_job_samples_per_second{job="b",namespace="t\"e\\a\nm"} 0
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
# HELP attune_watch_restarts_total Watches of the API server that began again before their time, by cause.
# TYPE attune_watch_restarts_total counter
attune_watch_restarts_total{cause="expired",resource="pods"} 1
attune_watch_restarts_total{cause="failed",resource="pods"} 2
attune_watch_restarts_total{cause="silent",resource="pods"} 3
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

// Fields of another type than the kind has, and a condition that is not known, have no series.
kube::Json Object() {
  return kube::Json::parse(R"({"status": {
    "phase": "Running", "startTime": "2025-11-27T23:00:00Z",
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Degraded", "status": "Unknown"},
                   {"type": "Reconfiguring", "status": "False"}, {"status": "True"}],
    "progress": {"fraction": 0.1, "remainingSeconds": 1500},
    "servers": {"ready": 2, "replicas": 2, "failed": "none", "usage": {"memoryBytes": 750, "memoryLimitBytes": 1000}},
    "workers": {"ready": 3, "replicas": 4, "failed": 1,
                "usage": {"memoryBytes": 10, "memoryLimitBytes": 0, "throttled": 0.61}},
    "tuning": {"changes": 3, "remainingLowSeconds": 1200.5, "remainingHighSeconds": 2000,
               "current": {"servers": 2, "workers": 4, "slack": 1000000}, "policyRefusals": 4,
               "decisions": [{"outcome": "NotTaken", "expectedSpeedup": 9, "measuredSpeedup": 8, "costSeconds": 7},
                             {"outcome": "Kept", "expectedSpeedup": 1.25, "measuredSpeedup": 1.5,
                              "costSeconds": 12.5}]},
    "checkpoint": {"time": "2025-11-28T00:00:00Z", "intervalSeconds": 300},
    "recovery": {"count": 1}, "rows": {"ignored": true, "speedup": 0.8},
    "policy": {"policies": "TuningPolicy a/b"}}})");
}

OperatorMetrics Values() {
  OperatorMetrics values;
  values.version = "1.2.3";
  values.jobs = {
      {.name_space = "default",
       .name = "a",
       .object = std::make_shared<kube::Json>(Object()),
       .loss = 2.125,
       .samples_per_second = 353123.456,
       .resizing = 5,
       .resize_deferred = 6,
       .resize_infeasible = 7},
      {.name_space = "t\"e\\a\nm", .name = "b", .object = std::make_shared<kube::Json>(kube::Json::object())}};
  values.watches = {{.resource = "pods", .expired = 1, .failed = 2, .silent = 3}};
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
}  // namespace attune::controller::metrics_test
