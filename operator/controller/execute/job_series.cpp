#include "operator/controller/execute/job_series.h"

#include <array>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "operator/controller/observe/timestamp.h"

namespace attune::controller {
namespace {

using kube::Json;
using Add = JobFamily::Add;
using Path = std::initializer_list<std::string_view>;

std::optional<double> NumberAt(const Json& job, Path path) {
  const Json& value = kube::At(job, path);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

void AddAt(const Json& job, Path path, JobFamily::Labels labels, const Add& add) {
  if (const auto value = NumberAt(job, path)) add(std::move(labels), *value);
}

// Of both roles, in `field` of status.servers and status.workers.
void AddOfRoles(const Json& job, const char* field, const Add& add) {
  AddAt(job, {"status", "servers", field}, {{"role", "server"}}, add);
  AddAt(job, {"status", "workers", field}, {{"role", "worker"}}, add);
}

void Phase(const Json& job, const Add& add) {
  const Json& phase = kube::At(job, {"status", "phase"});
  if (phase.is_string()) add({{"phase", phase.get<std::string>()}}, 1);
}

void Conditions(const Json& job, const Add& add) {
  for (const Json& condition : kube::At(job, {"status", "conditions"})) {
    const Json &type = kube::At(condition, {"type"}), &status = kube::At(condition, {"status"});
    if (!type.is_string() || (status != "True" && status != "False")) continue;
    add({{"condition", type.get<std::string>()}}, status == "True" ? 1 : 0);
  }
}

void Remaining(const Json& job, const Add& add) {
  AddAt(job, {"status", "progress", "remainingSeconds"}, {{"bound", "expected"}}, add);
  AddAt(job, {"status", "tuning", "remainingLowSeconds"}, {{"bound", "low"}}, add);
  AddAt(job, {"status", "tuning", "remainingHighSeconds"}, {{"bound", "high"}}, add);
}

void Setting(const Json& job, const Add& add) {
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

void MemoryUse(const Json& job, const Add& add) {
  for (const auto& [field, role] : {std::pair("servers", "server"), std::pair("workers", "worker")}) {
    const auto used = NumberAt(job, {"status", field, "usage", "memoryBytes"});
    const auto limit = NumberAt(job, {"status", field, "usage", "memoryLimitBytes"});
    if (used && limit && *limit > 0) add({{"role", role}}, *used / *limit);
  }
}

void Throttled(const Json& job, const Add& add) {
  AddAt(job, {"status", "servers", "usage", "throttled"}, {{"role", "server"}}, add);
  AddAt(job, {"status", "workers", "usage", "throttled"}, {{"role", "worker"}}, add);
}

void CheckpointTime(const Json& job, const Add& add) {
  const Json& text = kube::At(job, {"status", "checkpoint", "time"});
  const auto time = text.is_string() ? ParseRfc3339(text.get_ref<const std::string&>()) : std::nullopt;
  if (time) add({}, static_cast<double>(std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count()));
}

// The operator chooses it for a job that states none.
void CheckpointInterval(const Json& job, const Add& add) {
  auto seconds = NumberAt(job, {"spec", "checkpoint", "intervalSeconds"});
  if (!seconds) seconds = NumberAt(job, {"status", "checkpoint", "intervalSeconds"});
  if (seconds && *seconds > 0) add({}, *seconds);
}

constexpr auto kFamilies = std::to_array<JobFamily>({
    {"attune_job_phase", false, "1 for the phase that the job is in.", Phase},
    {"attune_job_condition", false, "Conditions of the status: 1 True, 0 False; one that is Unknown has no series.",
     Conditions},
    {"attune_job_progress_ratio", false, "Part of the goal reached, 0 to 1.",
     [](const Json& job, const Add& add) {
       add({}, NumberAt(job, {"status", "progress", "fraction"}).value_or(0));
     }},
    {"attune_job_remaining_seconds", false, "Time to the goal, and the bounds of its 90 % interval.", Remaining},
    {"attune_job_pods", false, "Pods that exist and are not on their way out.",
     [](const Json& job, const Add& add) { AddOfRoles(job, "replicas", add); }},
    {"attune_job_ready_pods", false, "Pods that are ready.",
     [](const Json& job, const Add& add) { AddOfRoles(job, "ready", add); }},
    {"attune_job_failed_pods_total", true, "Failures of pods so far.",
     [](const Json& job, const Add& add) { AddOfRoles(job, "failed", add); }},
    {"attune_job_setting", false, "The setting in force, by knob; slack 0 is BSP, 1000000 Async.", Setting},
    {"attune_job_setting_changes_total", true, "Changes of setting by the tuner so far.",
     [](const Json& job, const Add& add) {
       AddAt(job, {"status", "tuning", "changes"}, {}, add);
     }},
    {"attune_job_memory_use_ratio", false, "Memory of the fullest pod, as part of its limit.", MemoryUse},
    {"attune_job_throttled_ratio", false, "Part of the time that a limit of CPU held pods up, the mean.", Throttled},
    {"attune_job_checkpoint_timestamp_seconds", false, "When the newest checkpoint was complete, Unix time.",
     CheckpointTime},
    {"attune_job_checkpoint_interval_seconds", false, "Time between regular checkpoints; absent: there are none.",
     CheckpointInterval},
    {"attune_job_restorations_total", true, "Times that rows went back to a checkpoint, or to their first values.",
     [](const Json& job, const Add& add) {
       AddAt(job, {"status", "recovery", "count"}, {}, add);
     }},
});

}  // namespace

std::span<const JobFamily> JobFamilies() { return kFamilies; }

}  // namespace attune::controller
