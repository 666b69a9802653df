#include "cli/display/description.h"

#include <cmath>

#include "cli/display/job/row_text.h"
#include "cli/display/table.h"
#include "cli/runs/job_view.h"
#include "operator/api/format.h"
#include "operator/api/status/chosen_settings.h"
#include "operator/api/training_job.h"
#include "operator/controller/observe/observed.h"
#include "operator/kube/quantity.h"

namespace attune::cli {
namespace {

std::string GoalText(const api::Goal& goal) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", or ") + part; };
  if (goal.epochs) add(std::to_string(*goal.epochs) + (*goal.epochs == 1 ? " epoch" : " epochs"));
  if (goal.steps) add(std::to_string(*goal.steps) + " steps");
  if (goal.target_loss) add("a training loss of " + api::FormatFigure(*goal.target_loss));
  const auto sign = [](api::Direction direction) { return direction == api::Direction::kMaximize ? " >= " : " <= "; };
  if (const api::TargetMetric& target = goal.target_metric; !target.name.empty()) {
    add(target.name + sign(target.direction) + api::FormatFigure(target.value.value_or(0)));
  }
  if (const api::EarlyStopping& stopping = goal.early_stopping; !stopping.metric.empty()) {
    const int64_t patience = stopping.patience.value_or(1);
    add("no better " + stopping.metric + " for " + std::to_string(patience) + (patience == 1 ? " report" : " reports"));
  }
  if (goal.max_duration_seconds) add(api::FormatSeconds(static_cast<double>(*goal.max_duration_seconds)));
  return text;
}

std::string EvaluationText(const api::EvaluateEvery& every) {
  std::string text;
  const auto add = [&](const std::optional<uint64_t>& count, const std::string& what) {
    if (!count) return;
    text +=
        (text.empty() ? "every " : ", or every ") + (*count == 1 ? what : std::to_string(*count) + " " + what + "s");
  };
  add(every.epochs, "epoch");
  add(every.steps, "step");
  return text;
}

std::string RoleText(const api::Role& role, const api::RoleStatus& status) {
  std::string text = std::to_string(role.replicas) + " wanted (" + std::to_string(role.min) + " to " +
                     std::to_string(role.max) + "), " + std::to_string(status.ready) + " ready";
  if (status.failed > 0) text += ", " + std::to_string(status.failed) + (status.failed == 1 ? " failure" : " failures");
  return text;
}

// "cpu 2 (250m to 4), memory 1Gi (up to 4Gi)": the spec's, of one pod.
std::string SizeText(const api::RoleResources& resources) {
  std::string text;
  const auto add = [&](const char* name, const api::ResourceTarget& own, auto format) {
    if (!own.any()) return;
    text +=
        (text.empty() ? "" : ", ") + std::string(name) + " " + (own.target ? format(*own.target) : "without target");
    if (own.min && own.max) {
      text += " (" + format(*own.min) + " to " + format(*own.max) + ")";
    } else if (own.min || own.max) {
      text += own.min ? " (at least " + format(*own.min) + ")" : " (at most " + format(*own.max) + ")";
    }
  };
  add("cpu", resources.cpu, kube::FormatMillicores);
  add("memory", resources.memory, kube::FormatByteCount);
  return text;
}

// "0.93 of 1 cores each, held up 12 % of the time; memory 310.0 MiB of 1.0 GiB (fullest: a-worker-1)".
std::string UsageText(const std::optional<api::RoleUsage>& usage) {
  if (!usage) return "";
  std::string text = api::FormatFigure(usage->cpu_cores);
  if (usage->cpu_limit_cores > 0) text += " of " + api::FormatFigure(usage->cpu_limit_cores);
  text += " cores each";
  if (usage->throttled > 0)
    text += ", held up " + std::to_string(std::lround(100 * usage->throttled)) + " % of the time";
  text += "; memory " + api::FormatBytes(static_cast<uint64_t>(std::max<int64_t>(usage->memory_bytes, 0)));
  if (usage->memory_limit_bytes > 0)
    text += " of " + api::FormatBytes(static_cast<uint64_t>(usage->memory_limit_bytes));
  return text + " (fullest: " + usage->fullest + ")";
}

std::string ProgressText(const api::TrainingJobStatus& status) {
  if (!status.progress) return "";
  const api::Display display = api::MakeDisplay(status);
  std::string text = display.progress;
  if (status.progress->epochs > 0) {
    text += ", epoch " + std::to_string(std::min(status.progress->epoch + 1, status.progress->epochs)) + "/" +
            std::to_string(status.progress->epochs);
  }
  if (!display.loss.empty()) text += ", loss " + display.loss;
  if (!display.rate.empty()) text += ", " + display.rate;
  if (!display.remaining.empty()) text += ", " + display.remaining + " left";
  if (status.progress->reprocessed_items > 0) {
    text += ", " + std::to_string(status.progress->reprocessed_items) + " items done again";
  }
  return text;
}

// What is asked for; "" when nothing is.
std::string PlacementText(const api::Placement& placement) {
  std::string text;
  if (placement.servers != api::ServerPlacement::kAny) text = "servers " + ToString(placement.servers);
  if (placement.workers != api::WorkerPlacement::kAny) {
    text += (text.empty() ? "workers " : ", workers ") + ToString(placement.workers);
  }
  return text;
}

std::string PaceText(const api::TrainingJob& job) {
  const std::string wanted = Describe(api::FromManifest(job.spec.synchronization));
  if (!job.status.synchronization) return wanted == "Async" ? "" : wanted + " wanted";
  std::string text = Describe(api::FromManifest(*job.status.synchronization));
  if (text != wanted) text += ", " + wanted + " wanted";
  if (job.status.progress && !job.status.progress->slowest_worker.empty()) {
    text += ", waiting for " + job.status.progress->slowest_worker;
  }
  return text;
}

std::string TransportText(const api::Security& security) {
  if (!security.tls_secret.empty()) return "Encrypted, by the certificates of Secret " + security.tls_secret;
  const bool encrypted = security.transport == api::Transport::kEncrypted;
  return std::string(ToString(security.transport)) +
         (encrypted ? ", by certificates of the job's token" : ", rows in the clear");
}

std::string MovingText(const api::TrainingJobStatus& status) {
  if (!status.progress || !status.progress->moving_bytes_left) return "";
  return api::FormatCount(status.progress->moving_rows_per_second.value_or(0)) + " rows/s, " +
         api::FormatBytes(*status.progress->moving_bytes_left) + " left";
}

std::string CheckpointText(const api::TrainingJobStatus& status, double now) {
  if (!status.checkpoint) return "";
  const api::CheckpointStatus& last = *status.checkpoint;
  std::string text = "none";
  if (!last.directory.empty()) {
    text = api::CheckpointName(last) + " at step " + std::to_string(last.step) + ", " +
           api::FormatCount(static_cast<double>(last.rows)) + " rows, " + api::FormatBytes(last.bytes) + ", " +
           AgeText(last.time, now) + " ago";
  }
  if (last.interval_seconds) {
    text += "; one every " + api::FormatAge(static_cast<double>(*last.interval_seconds)) +
            " by default (spec.checkpoint.intervalSeconds is not stated" +
            (last.seconds ? "; the last one took " + api::FormatSeconds(*last.seconds) : "") + ")";
  }
  if (!last.message.empty()) text += "; the last request failed: " + last.message;
  if (!last.regular_message.empty()) text += "; the last regular one failed: " + last.regular_message;
  return text;
}

std::string StandstillText(const api::TrainingJobStatus& status, double now) {
  if (!status.standstill) return "";
  return "what the job waits for was restarted " + std::to_string(status.standstill->restarts) +
         (status.standstill->restarts == 1 ? " time" : " times in a row") + ", the last time " +
         AgeText(status.standstill->restarted_at, now) + " ago";
}

std::string RecoveryText(const api::TrainingJobStatus& status) {
  if (!status.recovery || status.recovery->count == 0) return "";
  return std::to_string(status.recovery->count) + (status.recovery->count == 1 ? " loss" : " losses") +
         " of servers, " + std::to_string(status.recovery->restored_rows) +
         " rows went back to a checkpoint or their first value" +
         (status.recovery->checkpoint == 0
              ? ""
              : "; the last loss took checkpoint " + std::to_string(status.recovery->checkpoint) + ", " +
                    std::to_string(status.recovery->steps_lost) + " steps before it");
}

// What it does now is no longer so when the job has ended.
std::string TuningText(const api::TrainingJob& job) {
  const api::TuningStatus& tuning = *job.status.tuning;
  if (!HasEnded(job.status))
    return std::string(ToString(job.spec.tuning.mode)) + ", " + tuning.stage + ": " + tuning.message;
  return std::string(ToString(job.spec.tuning.mode)) + ", " + std::to_string(tuning.changes) +
         (tuning.changes == 1 ? " change" : " changes") + "; attune explain " + job.name + " says why each was made";
}

void AddTable(std::string& text, const std::string& title, const Table& table) {
  if (table.rows.empty()) {
    text += "\n" + title + ": none\n";
    return;
  }
  text += "\n" + title + ":\n";
  for (const std::string& line : FormatTable(table)) text += "  " + line + "\n";
}

Table ConditionTable(const api::TrainingJobStatus& status, double now) {
  Table table{{"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"}, {}};
  for (const api::Condition& condition : status.conditions) {
    // The log lines in a message stand below the table.
    const std::string first = condition.message.substr(0, condition.message.find('\n'));
    table.rows.push_back(
        {condition.type, condition.status, AgeText(condition.last_transition_time, now), condition.reason, first});
  }
  return table;
}

// The last of the tuner's changes; `attune explain` has them all, with the reasons.
Table DecisionTable(const std::vector<api::TuningDecision>& decisions, double now) {
  Table table{{"", "KIND", "AGE", "FROM", "TO", "EXPECTED", "MEASURED", "OUTCOME"}, {}};
  for (const api::TuningDecision& decision : decisions) {
    table.rows.push_back({std::to_string(decision.number), decision.kind, AgeText(decision.time, now), decision.from,
                          decision.to, decision.expected, decision.measured.empty() ? "-" : decision.measured,
                          decision.outcome});
  }
  return table;
}

// "1 server, 2 workers: 1.2k updates/s, 3m20s to the goal"
std::string SettingText(const std::optional<api::TuningSetting>& setting, bool ended) {
  if (!setting) return "";
  std::string text = controller::ToString({setting->servers, setting->workers, setting->threads, setting->slack,
                                           setting->worker_millicores, setting->server_millicores});
  if (!setting->updates_per_second) return text;
  text += ": " + api::FormatFigure(*setting->updates_per_second) + " updates/s";
  if (setting->remaining_seconds && !ended)
    text += ", " + api::FormatSeconds(*setting->remaining_seconds) + " to the goal";
  return text;
}

Table MetricTable(const std::vector<api::MetricStatus>& metrics) {
  Table table{{"NAME", "LAST", "WHERE", "BEST", "WHERE", "REPORTS", "LEFT OUT"}, {}};
  for (const api::MetricStatus& metric : metrics) {
    const auto figure = [](const std::optional<double>& value) { return value ? api::FormatFigure(*value) : "-"; };
    table.rows.push_back({metric.name, figure(metric.value), metric.value ? ToString(metric.at) : "-",
                          figure(metric.best), metric.best ? ToString(metric.best_at) : "-",
                          std::to_string(metric.reports),
                          metric.left_out == 0 ? "-" : std::to_string(metric.left_out) + " not finite"});
  }
  return table;
}

Table PodTable(const std::vector<kube::Json>& pods, double now) {
  Table table{{"NAME", "STATE", "RESTARTS", "NODE", "AGE"}, {}};
  for (const kube::Json& pod : pods) {
    int64_t restarts = 0;
    const kube::Json& statuses = kube::At(pod, {"status", "containerStatuses"});
    if (statuses.is_array()) {
      for (const kube::Json& status : statuses) restarts += kube::IntegerAt(status, {"restartCount"});
    }
    table.rows.push_back({std::string(kube::Name(pod)), PodState(pod), std::to_string(restarts),
                          std::string(kube::StringAt(pod, {"spec", "nodeName"})),
                          AgeText(std::string(kube::StringAt(pod, {"metadata", "creationTimestamp"})), now)});
  }
  return table;
}

// "2", "1 (2 asked for)", "100m requested"; "-" where nothing is stated.
template <class Format>
std::string FigureText(const controller::ResourceFigures& asked, const controller::ResourceFigures* actual,
                       Format format) {
  const auto text = [&](const controller::ResourceFigures& figures) {
    return figures.limit ? format(*figures.limit) : format(*figures.request) + " requested";
  };
  if (!asked.any()) return "-";
  if (actual == nullptr || !actual->any() || actual->shown() == asked.shown()) return text(asked);
  return text(*actual) + " (" + format(*asked.shown()) + " asked for)";
}

// What the machine has said of the last resize.
std::string ResizeText(const controller::PodResize& resize, double now) {
  std::string text;
  switch (resize.state) {
    case controller::ResizeState::kNone:
      return "";
    case controller::ResizeState::kDeferred:
      text = "deferred";
      break;
    case controller::ResizeState::kInfeasible:
      text = "infeasible";
      break;
    case controller::ResizeState::kInProgress:
      text = "in progress";
      break;
    case controller::ResizeState::kError:
      text = "in progress, with an error";
      break;
  }
  if (resize.since) text += " for " + api::FormatAge(now - ToUnixSeconds(*resize.since));
  return text + (resize.message.empty() ? "" : ": " + resize.message);
}

// Of the roles' containers, where any states figures.
Table SizeTable(const std::vector<kube::Json>& pods, double now) {
  Table table{{"NAME", "CPU", "MEMORY", "RESIZE"}, {}};
  bool any = false;
  for (const kube::Json& pod : pods) {
    const controller::PodResize resize = controller::ObservePod(pod).resize;
    any = any || resize.asked.cpu.any() || resize.asked.memory.any();
    const auto* actual = resize.actual ? &*resize.actual : nullptr;
    table.rows.push_back(
        {std::string(kube::Name(pod)),
         FigureText(resize.asked.cpu, actual == nullptr ? nullptr : &actual->cpu, kube::FormatMillicores),
         FigureText(resize.asked.memory, actual == nullptr ? nullptr : &actual->memory, kube::FormatByteCount),
         ResizeText(resize, now)});
  }
  return any ? table : Table{};
}

Table EventTable(const std::vector<JobEvent>& events, double now) {
  Table table{{"AGE", "TYPE", "REASON", "ABOUT", "WHAT"}, {}};
  for (const JobEvent& event : events) {
    std::string note = event.note;
    for (char& c : note) {
      if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    }
    if (event.count > 1) note += " (" + std::to_string(event.count) + " times)";
    table.rows.push_back(
        {AgeText(event.time, now), event.warning ? "Warning" : "Normal", event.reason, event.object, note});
  }
  return table;
}

// "workers 4 instead of 2 (argocd-controller keeps the spec)".
std::string ChosenText(const api::TrainingJob& job) {
  if (job.chosen.empty()) return "";
  const std::string& owner = job.replicas_manager;
  return api::ToString(job.chosen) + (owner.empty() ? "" : " (" + owner + " keeps the spec)");
}

}  // namespace

std::string DescriptionText(const kube::Json& object, const std::vector<kube::Json>& pods,
                            const std::vector<JobEvent>& events, double now) {
  const api::TrainingJob job = api::ParseInForce(object).job;
  std::string text;
  AppendNamedLine(text, "Name", job.name);
  AppendNamedLine(text, "Namespace", job.name_space);
  AppendNamedLine(text, "Phase", job.being_deleted ? "Deleting" : job.status.phase);
  AppendNamedLine(text, "Created", job.creation_time + " (" + AgeText(job.creation_time, now) + " ago)");
  AppendNamedLine(text, "Started", job.status.start_time);
  AppendNamedLine(text, "Ended", job.status.completion_time);
  AppendNamedLine(text, "Goal", GoalText(job.spec.goal));
  AppendNamedLine(text, "Evaluation", EvaluationText(job.spec.goal.evaluate_every));
  AppendNamedLine(text, "Servers", RoleText(job.spec.servers, job.status.servers));
  AppendNamedLine(text, "Each", SizeText(job.spec.servers.resources));
  AppendNamedLine(text, "Use", UsageText(job.status.servers.usage));
  AppendNamedLine(text, "Workers", RoleText(job.spec.workers, job.status.workers));
  AppendNamedLine(text, "Each", SizeText(job.spec.workers.resources));
  AppendNamedLine(text, "Use", UsageText(job.status.workers.usage));
  AppendNamedLine(text, "Placement", PlacementText(job.spec.placement));
  AppendNamedLine(text, "Chosen", ChosenText(job));
  AppendNamedLine(text, "Progress", ProgressText(job.status));
  AppendNamedLine(text, "Trouble", TroubleOf(job.status));
  AppendNamedLine(text, "Trouble", EndedWithoutAStep(job, pods));
  AppendNamedLine(text, "Standstill", StandstillText(job.status, now));
  AppendNamedLine(text, "Move", job.status.move ? job.status.move->message : "");
  const api::Condition* suspended = api::FindCondition(job.status, api::kSuspended);
  AppendNamedLine(text, "Suspension", suspended == nullptr ? "" : suspended->message);
  AppendNamedLine(text, "Pace", PaceText(job));
  AppendNamedLine(text, "Transport", TransportText(job.spec.security));
  AppendNamedLine(text, "Moving", MovingText(job.status));
  AppendNamedLine(text, "Checkpoint", CheckpointText(job.status, now));
  if (job.status.best_checkpoint) AppendNamedLine(text, "Best", ToString(*job.status.best_checkpoint));
  AppendNamedLine(text, "Recovery", RecoveryText(job.status));
  if (job.status.rows) {
    AppendNamedLine(text, "Rows", PlacesText(*job.status.rows));
    AppendNamedLine(text, "Announced", AnnouncementsText(*job.status.rows));
    AppendNamedLine(text, "Copies", CopiesText(*job.status.rows));
  }
  if (job.status.tuning) {
    AppendNamedLine(text, "Tuning", TuningText(job));
    AppendNamedLine(text, "Setting", SettingText(job.status.tuning->current, HasEnded(job.status)));
    AppendNamedLine(text, "Best known", SettingText(job.status.tuning->best, HasEnded(job.status)));
  }
  AppendNamedLine(
      text, "Coordinator",
      job.status.coordinator +
          (job.status.coordinator_term > 0 ? " (term " + std::to_string(job.status.coordinator_term) + ")" : ""));
  if (job.status.result) {
    for (const auto& [name, value] : job.status.result->metrics) AppendNamedLine(text, name, api::FormatFigure(value));
    AppendNamedLine(text, "Model", job.status.result->model_path);
    AppendNamedLine(text, "Left out", job.status.result->left_out);
  }
  if (!job.status.metrics.empty()) AddTable(text, "Metrics", MetricTable(job.status.metrics));
  if (job.status.tuning && !job.status.tuning->decisions.empty())
    AddTable(text, "Decisions of the tuner", DecisionTable(job.status.tuning->decisions, now));
  AddTable(text, "Conditions", ConditionTable(job.status, now));
  if (const api::Condition* failed = api::FindCondition(job.status, api::kFailed);
      failed != nullptr && failed->status == "True" && failed->message.find('\n') != std::string::npos) {
    text += "\nWhy it failed:\n" + failed->message + (failed->message.ends_with('\n') ? "" : "\n");
  }
  AddTable(text, "Pods", PodTable(pods, now));
  if (const Table sizes = SizeTable(pods, now); !sizes.rows.empty())
    AddTable(text, "Limits of their containers", sizes);
  AddTable(text, "Events", EventTable(events, now));
  if (job.status.result && !job.status.result->summary.empty()) {
    text += "\nResult:\n" + job.status.result->summary + (job.status.result->summary.ends_with('\n') ? "" : "\n");
  }
  return text;
}

}  // namespace attune::cli
