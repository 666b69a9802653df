#include "operator/controller/plan/requests/requests.h"

#include <algorithm>

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/requests/checkpoint_interval.h"
#include "operator/controller/plan/requests/row_trace.h"
#include "proto/row_management.h"
#include "proto/sync_mode.h"

namespace attune::controller {
namespace {

void PlanSynchronization(const Observed& observed, const v1::JobWindow& window, Directives& directives,
                         RequestsView& view) {
  const SyncMode wanted = api::FromManifest(observed.job.spec.synchronization);
  const SyncMode in_force = ReportedMode(window.synchronization());
  if (in_force == wanted) return;
  if (!window.abilities().synchronization_modes()) {
    view.synchronization_refused = "the servers of this job cannot switch to " + Describe(wanted) +
                                   " and continue with " + Describe(in_force) +
                                   "; set spec.synchronization back, or run the job with images that can";
    return;
  }
  v1::Directive directive;
  *directive.mutable_set_synchronization()->mutable_synchronization() = ToProto(wanted);
  const Reply reply = directives.AskCoordinator(
      "synchronization=" + Describe(wanted) + " of generation " + std::to_string(observed.job.generation), directive,
      Describe(wanted) + " is wanted");
  if (reply.state != Reply::State::kRefused) {
    view.switching_to = wanted;
  } else {
    view.synchronization_refused = "switching to " + Describe(wanted) + " did not succeed: " + reply.message;
  }
}

void PlanRowManagement(const Observed& observed, const v1::JobWindow& window, Directives& directives,
                       RequestsView& view) {
  const RowManagement wanted = observed.job.spec.row_management;
  if (window.announcements().management() == ToProto(wanted)) return;
  if (!window.abilities().row_management()) {
    view.row_management_refused =
        "the servers of this job cannot change what workers make of announced rows; set "
        "spec.rowManagement back, or run the job with images that can";
    return;
  }
  v1::Directive directive;
  directive.mutable_set_row_management()->set_management(ToProto(wanted));
  const std::string name = ToString(wanted);
  const Reply reply =
      directives.AskCoordinator("rowManagement=" + name + " of generation " + std::to_string(observed.job.generation),
                                directive, "rowManagement " + name + " is wanted");
  if (reply.state == Reply::State::kRefused) {
    view.row_management_refused = "rowManagement " + name + " did not come into force: " + reply.message;
  }
}

// By what each worker says it does, so that one that came later is asked like the others.
void PlanThreads(const Observed& observed, Directives& directives, RequestsView& view) {
  const std::optional<int32_t>& wanted = observed.job.spec.worker_threads;
  if (!wanted) return;
  for (const telemetry::PodSample& sample : observed.sample.pods) {
    const v1::WorkerWindow& worker = sample.window.worker();
    if (worker.steps() == 0 || static_cast<int32_t>(worker.threads()) == *wanted) continue;
    // What a pod said that has left, or that has a successor of its name, concerns no process that runs.
    const auto pod = std::ranges::find_if(observed.pods, [&](const ObservedPod& each) {
      return each.name == sample.pod && each.job_uid == observed.job.uid && IsAlive(each) &&
             (sample.pod_uid.empty() || sample.pod_uid == each.uid);
    });
    if (pod == observed.pods.end()) continue;
    if (worker.threads_max() == 0) {
      view.threads_refused = "the program of " + sample.pod +
                             " chooses its threads itself; remove spec.workers.threads, or run one that offers them "
                             "(OfferThreads, docs/worker.md)";
      continue;
    }
    v1::Directive directive;
    directive.mutable_set_threads()->set_threads(static_cast<uint32_t>(*wanted));
    const std::string count = Counted(*wanted, "thread");
    const std::string key = "threads=" + std::to_string(*wanted) + " of generation " +
                            std::to_string(observed.job.generation) + " for " + pod->uid;
    const Reply reply = directives.Ask(*pod, key, directive, sample.pod + " is to compute with " + count);
    if (reply.state == Reply::State::kRefused) {
      view.threads_refused = sample.pod + " does not compute with " + count + ": " + reply.message;
    }
  }
}

void PlanCheckpoint(const Observed& observed, const v1::JobWindow& window, Directives& directives, RequestsView& view) {
  const std::string& request = observed.job.checkpoint_request;
  const auto& known = observed.job.status.checkpoint;
  if (request.empty() || (known && known->request == request)) return;
  if (!window.abilities().checkpoints()) {
    view.checkpoint = {request, "the servers of this job cannot write checkpoints while it runs"};
    return;
  }
  v1::Directive directive;
  directive.mutable_checkpoint()->set_directory(observed.job.spec.checkpoint.directory);
  const Reply reply = directives.AskCoordinator("checkpoint=" + request, directive, "a checkpoint was asked for");
  if (reply.state == Reply::State::kDone) view.checkpoint = {request, ""};
  if (reply.state == Reply::State::kRefused) view.checkpoint = {request, reply.message};
}

// A checkpoint that no user has asked for and that failed is not tried again before its time.
std::optional<Duration> UntilNextAttempt(const Observed& observed, const CheckpointSchedule& schedule,
                                         const std::string& key, Now now) {
  const auto answer = observed.sample.answers.find(key);
  const bool refused = answer != observed.sample.answers.end() &&
                       answer->second.outcome == telemetry::DirectiveAnswer::Outcome::kRefused;
  if (!schedule.is_default || !refused || now.monotonic - answer->second.at >= schedule.interval) return std::nullopt;
  return schedule.interval - (now.monotonic - answer->second.at);
}

// Every interval since the last one, or since the job began; the end of an attempt, good or bad, is the next begin.
// None once the goal is reached: what follows is evaluation and the saving of the model.
void PlanRegularCheckpoint(const Observed& observed, const v1::JobWindow& window, const PlanOptions& options, Now now,
                           Directives& directives, Draft& draft, RequestsView& view) {
  const std::optional<CheckpointSchedule> schedule = ScheduleOf(observed.job, options);
  if (!schedule || !window.abilities().checkpoints()) return;
  if (schedule->is_default) view.default_interval = schedule->interval;
  const auto& status = observed.job.status;
  const bool is_asked_for =
      view.checkpoint || (status.suspension && status.suspension->state == api::kSuspensionCheckpointing);
  if (is_asked_for || window.goal_reached()) return;
  const std::string since =
      status.checkpoint && !status.checkpoint->time.empty() ? status.checkpoint->time : status.start_time;
  if (!observed.checkpoint_since) return;
  const Duration left = *observed.checkpoint_since + schedule->interval - now.monotonic;
  if (left > Duration::zero()) return draft.Requeue(left, "the next checkpoint");
  const std::string key = "checkpoint after " + since;
  const std::string answered = directives.KeyInTerm(key);
  if (const auto wait = UntilNextAttempt(observed, *schedule, answered, now)) {
    view.regular_checkpoint_problem = observed.sample.answers.at(answered).message;
    return draft.Requeue(*wait, "the next checkpoint");
  }
  v1::Directive directive;
  directive.mutable_checkpoint()->set_directory(observed.job.spec.checkpoint.directory);
  const Reply reply = directives.AskCoordinator(
      key, directive, schedule->is_default ? "it is time for a checkpoint" : "checkpoint.intervalSeconds have passed");
  if (reply.state == Reply::State::kRefused) view.regular_checkpoint_problem = reply.message;
}

}  // namespace

MonotonicTime CheckpointClock::Since(const api::TrainingJob& job, Now now) {
  const auto& checkpoint = job.status.checkpoint;
  const bool any = checkpoint && !checkpoint->time.empty();
  const std::string last = any ? checkpoint->directory + " " + std::to_string(checkpoint->number) : "";
  if (since_ && last == last_) return *since_;
  Duration age{};
  if (const auto at = ParseRfc3339(any ? checkpoint->time : job.status.start_time); !since_ && at) {
    constexpr int64_t kDay = 86400;  // where none is stated
    age = std::clamp<Duration>(
        now.wall - *at, Duration::zero(),
        std::chrono::seconds(std::max<int64_t>(job.spec.checkpoint.interval_seconds.value_or(kDay), 0)));
  }
  last_ = last;
  since_ = now.monotonic - age;
  return *since_;
}

RequestsView PlanRequests(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now,
                          Directives& directives, Draft& draft) {
  RequestsView view;
  const v1::JobWindow* window = directives.window();
  if (!servers.formed || window == nullptr) return view;
  PlanSynchronization(observed, *window, directives, view);
  PlanRowManagement(observed, *window, directives, view);
  PlanThreads(observed, directives, view);
  PlanCheckpoint(observed, *window, directives, view);
  view.row_trace = PlanRowTrace(observed, now, directives, draft);
  PlanRegularCheckpoint(observed, *window, options, now, directives, draft, view);
  if (view.checkpoint && !view.checkpoint->problem.empty()) {
    draft.Warn(kEventCheckpointFailed, "Checkpoint",
               "The checkpoint asked for was not written: " + view.checkpoint->problem);
  }
  const std::string reported = observed.job.status.checkpoint ? observed.job.status.checkpoint->regular_message : "";
  if (!view.regular_checkpoint_problem.empty() && view.regular_checkpoint_problem != reported) {
    draft.Warn(kEventCheckpointFailed, "Checkpoint",
               "A regular checkpoint was not written: " + view.regular_checkpoint_problem);
  }
  return view;
}

}  // namespace attune::controller
