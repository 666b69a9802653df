#include "operator/controller/execute/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>

#include "operator/controller/execute/job_series.h"

namespace attune::controller {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<prometheus::ClientMetric::Label>;

MetricFamily Family(MetricType type, const char* name, const char* help) {
  return {.name = name, .help = help, .type = type, .metric = {}};
}

void Add(MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

MetricFamily Single(MetricType type, const char* name, const char* help, double value) {
  MetricFamily family = Family(type, name, help);
  Add(family, {}, value);
  return family;
}

template <class Integer>
MetricFamily Counter(const char* name, const char* help, Integer value) {
  return Single(MetricType::Counter, name, help, static_cast<double>(value));
}

template <class Integer>
MetricFamily Gauge(const char* name, const char* help, Integer value) {
  return Single(MetricType::Gauge, name, help, static_cast<double>(value));
}

void AppendJobs(const std::vector<JobMetrics>& jobs, std::vector<MetricFamily>& families) {
  families.push_back(Gauge("attune_jobs", "TrainingJobs known to this operator.", jobs.size()));
  const auto add = [&](const char* name, const char* help, auto value_of) {
    MetricFamily family = Family(MetricType::Gauge, name, help);
    for (const JobMetrics& job : jobs) {
      const std::optional<double> value = value_of(job);
      if (value) Add(family, {{"job", job.name}, {"namespace", job.name_space}}, *value);
    }
    families.push_back(std::move(family));
  };
  for (const JobFamily& series : JobFamilies()) {
    MetricFamily family = Family(series.is_counter ? MetricType::Counter : MetricType::Gauge, series.name, series.help);
    for (const JobMetrics& job : jobs) {
      if (job.object == nullptr) continue;
      series.samples(*job.object, [&](const JobFamily::Labels& labels, double value) {
        Labels all{{"job", job.name}, {"namespace", job.name_space}};
        for (const auto& [name, text] : labels) all.push_back({name, text});
        Add(family, std::move(all), value);
      });
    }
    families.push_back(std::move(family));
  }
  add("attune_job_loss", "Training loss over the workers' last windows.",
      [](const JobMetrics& job) { return job.loss; });
  add("attune_job_samples_per_second", "Samples per second of all workers.",
      [](const JobMetrics& job) { return std::optional(job.samples_per_second); });
  MetricFamily resizes = Family(MetricType::Gauge, "attune_job_pods_resizing",
                                "Pods that have not been given the cpu and memory asked for, by what is in the way.");
  for (const JobMetrics& job : jobs) {
    for (const auto& [state, count] : {std::pair("none", job.resizing), std::pair("deferred", job.resize_deferred),
                                       std::pair("infeasible", job.resize_infeasible)}) {
      Add(resizes, {{"job", job.name}, {"namespace", job.name_space}, {"state", state}}, count);
    }
  }
  families.push_back(std::move(resizes));
}

void AppendQueue(const kube::WorkQueueMetrics& queue, std::vector<MetricFamily>& families) {
  families.push_back(Gauge("attune_workqueue_depth", "Jobs waiting to be reconciled.", queue.depth));
  families.push_back(Gauge("attune_workqueue_delayed", "Jobs waiting for their time.", queue.delayed));
  families.push_back(Counter("attune_workqueue_adds_total", "Requests to reconcile a job.", queue.adds));
  families.push_back(Counter("attune_workqueue_retries_total", "Reconciles repeated after an error.", queue.retries));
  families.push_back(Counter("attune_workqueue_queue_seconds_total", "Time jobs spent waiting.", queue.queue_seconds));
  families.push_back(Counter("attune_workqueue_work_seconds_total", "Time spent reconciling.", queue.work_seconds));
  families.push_back(Gauge("attune_workqueue_longest_running_seconds", "Longest reconcile in progress.",
                           queue.longest_running_seconds));
}

}  // namespace

std::string MetricsPage(const OperatorMetrics& values) {
  std::vector<MetricFamily> families;
  MetricFamily build = Family(MetricType::Gauge, "attune_operator_build_info", "Release of this operator; always 1.");
  Add(build, {{"version", values.version}}, 1);
  families.push_back(std::move(build));
  AppendJobs(values.jobs, families);
  AppendQueue(values.queue, families);
  families.push_back(
      Counter("attune_reconcile_errors_total", "Reconciles that ended with an error.", values.reconcile_errors));
  families.push_back(Counter("attune_plans_total", "Plans made.", values.plans));
  families.push_back(Counter("attune_actions_total", "Actions tried.", values.actions));
  families.push_back(
      Counter("attune_failed_actions_total", "Actions that failed, and are tried again.", values.failed_actions));
  families.push_back(Counter("attune_telemetry_dropped_reports_total", "Reports of pods that are not known any more.",
                             values.dropped_reports));
  families.push_back(Counter("attune_telemetry_implausible_reports_total", "Reports with parts that cannot be true.",
                             values.implausible_reports));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace attune::controller
