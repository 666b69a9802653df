#include "cli/runs/job_view.h"

#include <algorithm>

#include "operator/controller/observe/names.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/status/metric_status.h"
#include "operator/telemetry/job_store.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

void AddOutcome(const api::TrainingJob& job, JobView& view) {
  if (api::IsTrue(job.status, api::kSucceeded)) view.outcome = JobView::Outcome::kSucceeded;
  if (api::IsTrue(job.status, api::kFailed)) {
    view.outcome = JobView::Outcome::kFailed;
    const api::Condition* failed = api::FindCondition(job.status, api::kFailed);
    view.failure = failed->message.empty() ? failed->reason : failed->message;
  }
}

constexpr std::string_view kSince = ", since ";  // as the operator writes it (operator/controller/status/status.cpp)

PodView FromPod(const kube::Json& pod) {
  PodView view;
  view.name = kube::Name(pod);
  view.role = kube::Label(pod, contract::kLabelRole);
  view.state = PodState(pod);
  view.address = kube::StringAt(pod, {"status", "podIP"});
  return view;
}

void AddDataPlane(const v1::JobWindow& window, JobView& view) {
  view.slowest_worker.clear();
  if (window.has_slowest_worker()) {
    view.slowest_worker = view.name + "-worker-" + std::to_string(window.slowest_worker());
  }
  view.moving_bytes_left.reset();
  view.moving_rows_per_second.reset();
  if (!window.has_relocation()) return;
  view.moving_bytes_left = window.relocation().bytes_left();
  view.moving_rows_per_second = window.relocation().rows_per_second();
}

// Reasons for which a job waits and that pass by themselves, or that the line about a standstill names.
bool IsOrdinary(const std::string& reason) {
  using namespace controller;
  for (const char* ordinary :
       {kReasonReady, kReasonStarting, kReasonNotReady, kReasonWaitingForServers, kReasonLeaving, kReasonFinished,
        kReasonScaling, kReasonServersJoining, kReasonServersLeaving, kReasonServerReplaced, kReasonCoordinatorMoving,
        kReasonSwitching, kReasonSettled, kReasonNotHeard, kReasonSuspending, kReasonSuspended}) {
    if (reason == ordinary) return true;
  }
  return false;
}

// In the words of the conditions, which name the next step.
std::vector<std::string> ErrorsOf(const api::TrainingJobStatus& status) {
  std::vector<std::string> errors;
  if (api::IsTrue(status, api::kSucceeded) || api::IsTrue(status, api::kFailed)) return errors;
  for (const auto& [type, wrong] :
       {std::pair(api::kReady, "False"), std::pair(api::kReconfiguring, "False"), std::pair(api::kBlocked, "True")}) {
    const api::Condition* condition = api::FindCondition(status, type);
    if (condition == nullptr || condition->status != wrong || IsOrdinary(condition->reason)) continue;
    const std::string text = condition->reason + ": " + condition->message;
    if (std::find(errors.begin(), errors.end(), text) == errors.end()) errors.push_back(text);
  }
  return errors;
}

}  // namespace

std::string TroubleOf(const api::TrainingJobStatus& status) {
  const api::Condition* progressing = api::FindCondition(status, api::kProgressing);
  const bool has_ended = api::IsTrue(status, api::kSucceeded) || api::IsTrue(status, api::kFailed);
  return progressing == nullptr || has_ended || progressing->reason == controller::kReasonProgressing
             ? ""
             : progressing->message;
}

std::string EndedWithoutAStep(const api::TrainingJob& job, const std::vector<kube::Json>& pods) {
  const auto& progress = job.status.progress;
  if (progress && (progress->fraction > 0 || progress->items_done > 0 || progress->epoch > 0)) return "";
  for (const char* over : {api::kSucceeded, api::kFailed, controller::kGoalReached}) {
    if (api::IsTrue(job.status, over)) return "";
  }
  std::string names;
  int count = 0;
  for (const kube::Json& pod : pods) {
    if (kube::Label(pod, contract::kLabelRole) != "worker" || kube::IsBeingDeleted(pod)) continue;
    if (kube::StringAt(pod, {"status", "phase"}) != "Succeeded") continue;
    constexpr int kNamed = 4;
    if (++count <= kNamed) names += (names.empty() ? "" : ", ") + std::string(kube::Name(pod));
    if (count == kNamed + 1) names += " ...";
  }
  if (count == 0) return "";
  return names + (count == 1 ? " has" : " have") +
         " ended with code 0 before any step was done: a worker's program opens a session "
         "(attune::ps::Session::Connect) "
         "and trains until the goal is reached";
}

namespace {

void AddProgress(const api::TrainingJobStatus& status, JobView& view) {
  const auto& progress = status.progress;
  if (!progress) return;
  view.fraction = progress->fraction;
  view.epoch = progress->epoch;
  view.epochs = progress->epochs;
  view.loss = progress->loss;
  view.rate = progress->rate;
  view.remaining_seconds = progress->remaining_seconds;
  view.sample_unit = progress->sample_unit;
  view.reprocessed_items = progress->reprocessed_items;
  view.slowest_worker = progress->slowest_worker;
  view.moving_bytes_left = progress->moving_bytes_left;
  view.moving_rows_per_second = progress->moving_rows_per_second;
  if (progress->items_total > 0 && progress->epochs > 0) {
    view.epochs_done = static_cast<double>(progress->items_done) * static_cast<double>(progress->epochs) /
                       static_cast<double>(progress->items_total);
  }
}

void AddCheckpoints(const api::TrainingJobStatus& status, JobView& view) {
  if (const auto& checkpoint = status.checkpoint) {
    view.checkpoint = checkpoint->directory;
    view.checkpoint_time = checkpoint->time;
    view.checkpoint_bytes = checkpoint->bytes;
    view.checkpoint_number = checkpoint->number;
    view.checkpoint_step = checkpoint->step;
  }
  if (const auto& best = status.best_checkpoint) view.best_checkpoint = ToString(*best);
  if (const auto& recovery = status.recovery) {
    view.recoveries = recovery->count;
    view.restored_rows = recovery->restored_rows;
  }
}

void AddTrouble(const api::TrainingJobStatus& status, JobView& view) {
  view.trouble = TroubleOf(status);
  if (const size_t at = view.trouble.rfind(kSince); at != std::string::npos) {
    view.trouble_since = view.trouble.substr(at + kSince.size());
    view.trouble.resize(at);
  }
}

void AddChanges(const api::TrainingJobStatus& status, JobView& view) {
  if (const auto& tuning = status.tuning; tuning && tuning->stage != "Off") {
    view.tuning_stage = tuning->stage;
    view.tuning = tuning->message;
    view.remaining_low = tuning->remaining_low;
    view.remaining_high = tuning->remaining_high;
    view.decisions = tuning->decisions;
  }
  if (const auto& move = status.move) {
    view.move = move->message;
    view.moving = move->state == api::kMoving;
  }
}

}  // namespace

JobView MakeView(const api::TrainingJob& job, const std::vector<kube::Json>& pods, std::vector<JobEvent> events) {
  JobView view;
  view.name = job.name;
  view.name_space = job.name_space;
  view.uid = job.uid;
  view.phase = job.status.phase.empty() ? "Pending" : job.status.phase;
  if (job.being_deleted) view.phase = "Deleting";
  AddProgress(job.status, view);
  view.threads = job.spec.worker_threads;
  view.server_usage = job.status.servers.usage;
  view.worker_usage = job.status.workers.usage;
  if (const auto& mode = job.status.synchronization; mode && api::FromManifest(*mode).bounded()) {
    view.synchronization = Describe(api::FromManifest(*mode));
  }
  AddCheckpoints(job.status, view);
  view.errors = ErrorsOf(job.status);
  if (const std::string ended = EndedWithoutAStep(job, pods); !ended.empty()) view.errors.push_back(ended);
  AddTrouble(job.status, view);
  AddChanges(job.status, view);
  view.servers_ready = job.status.servers.ready;
  view.workers_ready = job.status.workers.ready;
  view.servers_wanted = job.spec.servers.replicas;
  view.workers_wanted = job.spec.workers.replicas;
  for (const kube::Json& pod : pods) view.pods.push_back(FromPod(pod));
  view.events = std::move(events);
  view.started = ParseTime(job.status.start_time.empty() ? job.creation_time : job.status.start_time);
  view.ended = ParseTime(job.status.completion_time);
  AddOutcome(job, view);
  view.result = job.status.result;
  view.metrics = job.status.metrics;
  return view;
}

void AddTelemetry(const telemetry::JobSample& sample, JobView& view) {
  if (view.outcome != JobView::Outcome::kNone) return;
  if (sample.loss) view.loss = sample.loss;
  if (sample.rate > 0) view.rate = sample.rate;
  if (!sample.sample_unit.empty()) view.sample_unit = sample.sample_unit;
  if (sample.job) {
    view.epoch = sample.job->epoch();
    view.epochs = sample.job->epochs();
    view.reprocessed_items = sample.job->reprocessed_items();
    if (!sample.job->metrics().empty()) view.metrics = controller::MetricsOf(*sample.job);
    view.steps = static_cast<double>(sample.job->steps());
    if (sample.job->items() > 0)
      view.epochs_done = static_cast<double>(sample.job->items_done()) / static_cast<double>(sample.job->items());
    AddDataPlane(*sample.job, view);
  }
  for (const telemetry::PodSample& pod : sample.pods) {
    const auto at =
        std::find_if(view.pods.begin(), view.pods.end(), [&](const PodView& each) { return each.name == pod.pod; });
    if (at == view.pods.end() || !pod.connected) continue;
    const double seconds = pod.window.duration_seconds();
    if (pod.window.has_worker() && seconds > 0) at->rate = static_cast<double>(pod.window.worker().samples()) / seconds;
    if (pod.window.has_server()) at->rows = pod.window.server().rows();
    if (pod.usage.memory_bytes() > 0) at->memory_bytes = pod.usage.memory_bytes();
    if (pod.usage.memory_limit_bytes() > 0) at->memory_limit = pod.usage.memory_limit_bytes();
    if (pod.usage.cpu_limit_cores() > 0) at->cpu_limit = pod.usage.cpu_limit_cores();
    if (pod.usage.window_seconds() <= 0) continue;
    at->cpu_cores = pod.usage.cpu_seconds() / pod.usage.window_seconds();
    at->throttled = std::min(1.0, pod.usage.throttled_seconds() / pod.usage.window_seconds());
  }
}

}  // namespace attune::cli
