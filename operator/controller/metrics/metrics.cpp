#include "operator/controller/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "operator/controller/observe/timestamp.h"

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

// --- what the status of a job says, in figures: made of its object alone

using kube::Json;
using SeriesLabels = std::vector<std::pair<std::string, std::string>>;
using AddSample = std::function<void(SeriesLabels, double)>;

struct JobFamily {
  const char* name;  // in base units, counters with _total, as Prometheus' conventions have it
  bool is_counter;
  const char* help;
  // Adds what this job has of it, without the labels that name the job. Nothing for what its status does not say.
  void (*samples)(const Json& job, const AddSample& add);
};
using Path = std::initializer_list<std::string_view>;

std::optional<double> NumberAt(const Json& job, Path path) {
  const Json& value = kube::At(job, path);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

void AddAt(const Json& job, Path path, SeriesLabels labels, const AddSample& add) {
  if (const auto value = NumberAt(job, path)) add(std::move(labels), *value);
}

// Of both roles, in `field` of status.servers and status.workers.
void AddOfRoles(const Json& job, const char* field, const AddSample& add) {
  AddAt(job, {"status", "servers", field}, {{"role", "server"}}, add);
  AddAt(job, {"status", "workers", field}, {{"role", "worker"}}, add);
}

void Phase(const Json& job, const AddSample& add) {
  const Json& phase = kube::At(job, {"status", "phase"});
  if (phase.is_string()) add({{"phase", phase.get<std::string>()}}, 1);
}

void Conditions(const Json& job, const AddSample& add) {
  for (const Json& condition : kube::At(job, {"status", "conditions"})) {
    const Json &type = kube::At(condition, {"type"}), &status = kube::At(condition, {"status"});
    if (!type.is_string() || (status != "True" && status != "False")) continue;
    add({{"condition", type.get<std::string>()}}, status == "True" ? 1 : 0);
  }
}

void Remaining(const Json& job, const AddSample& add) {
  AddAt(job, {"status", "progress", "remainingSeconds"}, {{"bound", "expected"}}, add);
  AddAt(job, {"status", "tuning", "remainingLowSeconds"}, {{"bound", "low"}}, add);
  AddAt(job, {"status", "tuning", "remainingHighSeconds"}, {{"bound", "high"}}, add);
}

void Setting(const Json& job, const AddSample& add) {
  constexpr std::pair<const char*, const char*> kKnobs[] = {
      {"servers", "servers"},
      {"workers", "workers"},
      {"threads", "threads"},
      {"slack", "slack"},
      {"workerMillicores", "worker_millicores"},
      {"serverMillicores", "server_millicores"},
  };
  for (const auto& [field, knob] : kKnobs) AddAt(job, {"status", "tuning", "current", field}, {{"knob", knob}}, add);
}

void MemoryUse(const Json& job, const AddSample& add) {
  for (const auto& [field, role] : {std::pair("servers", "server"), std::pair("workers", "worker")}) {
    const auto used = NumberAt(job, {"status", field, "usage", "memoryBytes"});
    const auto limit = NumberAt(job, {"status", field, "usage", "memoryLimitBytes"});
    if (used && limit && *limit > 0) add({{"role", role}}, *used / *limit);
  }
}

void Throttled(const Json& job, const AddSample& add) {
  AddAt(job, {"status", "servers", "usage", "throttled"}, {{"role", "server"}}, add);
  AddAt(job, {"status", "workers", "usage", "throttled"}, {{"role", "worker"}}, add);
}

// As Unix time.
void AddTimeAt(const Json& job, Path path, const AddSample& add) {
  const Json& text = kube::At(job, path);
  const auto time = text.is_string() ? ParseRfc3339(text.get_ref<const std::string&>()) : std::nullopt;
  if (time) add({}, static_cast<double>(std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count()));
}

// The operator chooses it for a job that states none.
void CheckpointInterval(const Json& job, const AddSample& add) {
  auto seconds = NumberAt(job, {"spec", "checkpoint", "intervalSeconds"});
  if (!seconds) seconds = NumberAt(job, {"status", "checkpoint", "intervalSeconds"});
  if (seconds && *seconds > 0) add({}, *seconds);
}

void AnnouncementsIgnored(const Json& job, const AddSample& add) {
  const Json& ignored = kube::At(job, {"status", "rows", "ignored"});
  if (ignored.is_boolean()) add({}, ignored.get<bool>() ? 1 : 0);
}

// Of a job that policies select.
void PolicyConflict(const Json& job, const AddSample& add) {
  const Json& policy = kube::At(job, {"status", "policy"});
  if (policy.is_object()) add({}, kube::At(policy, {"conflict"}).is_string() ? 1 : 0);
}

// Adds what `sample` has of the newest decision that the status shows.
void OfLastDecision(const Json& job, const AddSample& add, void (*sample)(const Json& decision, const AddSample& add)) {
  const Json& decisions = kube::At(job, {"status", "tuning", "decisions"});
  if (decisions.is_array() && !decisions.empty()) sample(decisions.back(), add);
}

void LastChangeOutcome(const Json& job, const AddSample& add) {
  OfLastDecision(job, add, [](const Json& decision, const AddSample& to) {
    const Json& outcome = kube::At(decision, {"outcome"});
    if (outcome.is_string()) to({{"outcome", outcome.get<std::string>()}}, 1);
  });
}

void LastChangeSpeedup(const Json& job, const AddSample& add) {
  OfLastDecision(job, add, [](const Json& decision, const AddSample& to) {
    AddAt(decision, {"expectedSpeedup"}, {{"estimate", "expected"}}, to);
    AddAt(decision, {"measuredSpeedup"}, {{"estimate", "measured"}}, to);
  });
}

void LastChangeCost(const Json& job, const AddSample& add) {
  OfLastDecision(job, add, [](const Json& decision, const AddSample& to) { AddAt(decision, {"costSeconds"}, {}, to); });
}

constexpr auto kFamilies = std::to_array<JobFamily>({
    {"attune_job_phase", false, "1 for the phase that the job is in.", Phase},
    {"attune_job_condition", false, "Conditions of the status: 1 True, 0 False; one that is Unknown has no series.",
     Conditions},
    {"attune_job_progress_ratio", false, "Part of the goal reached, 0 to 1.",
     [](const Json& job, const AddSample& add) {
       add({}, NumberAt(job, {"status", "progress", "fraction"}).value_or(0));
     }},
    {"attune_job_remaining_seconds", false, "Time to the goal, and the bounds of its 90 % interval.", Remaining},
    {"attune_job_pods", false, "Pods that exist and are not on their way out.",
     [](const Json& job, const AddSample& add) { AddOfRoles(job, "replicas", add); }},
    {"attune_job_ready_pods", false, "Pods that are ready.",
     [](const Json& job, const AddSample& add) { AddOfRoles(job, "ready", add); }},
    {"attune_job_failed_pods_total", true, "Failures of pods so far.",
     [](const Json& job, const AddSample& add) { AddOfRoles(job, "failed", add); }},
    {"attune_job_setting", false, "The setting in force, by knob; slack 0 is BSP, 1000000 Async.", Setting},
    {"attune_job_setting_changes_total", true, "Changes of setting by the tuner so far.",
     [](const Json& job, const AddSample& add) {
       AddAt(job, {"status", "tuning", "changes"}, {}, add);
     }},
    {"attune_job_last_change_outcome", false, "1 for what became of the tuner's last change; Open while it is tried.",
     LastChangeOutcome},
    {"attune_job_last_change_speedup_ratio", false,
     "Rate that the last change was to give, and gave, over the best one before.", LastChangeSpeedup},
    {"attune_job_last_change_cost_seconds", false, "Time at full rate that the last change was expected to cost.",
     LastChangeCost},
    {"attune_job_policy_refusals_total", true, "Times that a policy kept the tuner from a change.",
     [](const Json& job, const AddSample& add) {
       AddAt(job, {"status", "tuning", "policyRefusals"}, {}, add);
     }},
    {"attune_job_memory_use_ratio", false, "Memory of the fullest pod, as part of its limit.", MemoryUse},
    {"attune_job_throttled_ratio", false, "Part of the time that a limit of CPU held pods up, the mean.", Throttled},
    {"attune_job_start_timestamp_seconds", false, "When the job began, Unix time.",
     [](const Json& job, const AddSample& add) {
       AddTimeAt(job, {"status", "startTime"}, add);
     }},
    {"attune_job_checkpoint_timestamp_seconds", false, "When the newest checkpoint was complete, Unix time.",
     [](const Json& job, const AddSample& add) {
       AddTimeAt(job, {"status", "checkpoint", "time"}, add);
     }},
    {"attune_job_checkpoint_interval_seconds", false, "Time between regular checkpoints; absent: there are none.",
     CheckpointInterval},
    {"attune_job_restorations_total", true, "Times that rows went back to a checkpoint, or to their first values.",
     [](const Json& job, const AddSample& add) {
       AddAt(job, {"status", "recovery", "count"}, {}, add);
     }},
    {"attune_job_announcements_ignored", false, "1 while workers ignore the rows that programs announce, else 0.",
     AnnouncementsIgnored},
    {"attune_job_announcements_speedup_ratio", false, "Rate with announced rows acted on, over that with them ignored.",
     [](const Json& job, const AddSample& add) {
       AddAt(job, {"status", "rows", "speedup"}, {}, add);
     }},
    {"attune_job_policy_conflict", false, "1 while its tuning policies conflict, else 0.", PolicyConflict},
});

// --- the page

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
  for (const JobFamily& series : kFamilies) {
    MetricFamily family = Family(series.is_counter ? MetricType::Counter : MetricType::Gauge, series.name, series.help);
    for (const JobMetrics& job : jobs) {
      if (job.object == nullptr) continue;
      series.samples(*job.object, [&](const SeriesLabels& labels, double value) {
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

void AppendWatches(const std::vector<WatchMetrics>& watches, std::vector<MetricFamily>& families) {
  MetricFamily restarts = Family(MetricType::Counter, "attune_watch_restarts_total",
                                 "Watches of the API server that began again before their time, by cause.");
  for (const WatchMetrics& watch : watches) {
    for (const auto& [cause, count] :
         {std::pair("expired", watch.expired), std::pair("failed", watch.failed), std::pair("silent", watch.silent)}) {
      Add(restarts, {{"cause", cause}, {"resource", watch.resource}}, static_cast<double>(count));
    }
  }
  families.push_back(std::move(restarts));
}

}  // namespace

std::string MetricsPage(const OperatorMetrics& values) {
  std::vector<MetricFamily> families;
  MetricFamily build = Family(MetricType::Gauge, "attune_operator_build_info", "Release of this operator; always 1.");
  Add(build, {{"version", values.version}}, 1);
  families.push_back(std::move(build));
  AppendJobs(values.jobs, families);
  AppendQueue(values.queue, families);
  AppendWatches(values.watches, families);
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
