#include "operator/controller/status/status.h"

#include <algorithm>
#include <map>

#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/requests/checkpoint_interval.h"
#include "operator/controller/plan/suspension/gang_start.h"
#include "operator/controller/status/data_plane.h"
#include "operator/controller/status/degraded.h"
#include "operator/controller/status/metric_status.h"
#include "operator/controller/status/policy_status.h"
#include "operator/controller/status/readiness.h"
#include "operator/controller/status/reconfiguring.h"
#include "operator/controller/status/suspended.h"
#include "operator/controller/status/telemetry/progress.h"
#include "operator/controller/status/telemetry/row_places.h"
#include "operator/controller/status/telemetry/usage.h"
#include "operator/controller/status/tuning_status.h"
#include "proto/metric_name.h"
#include "proto/pod_number.h"
#include "proto/sync_mode.h"

namespace attune::controller {
namespace {

using api::TrainingJobStatus;

constexpr size_t kConditionMessageBytesMax = 4096;

void SetMetricsAvailable(const Observed& observed, const PlanOptions& options, TrainingJobStatus& status, Now now) {
  const int64_t generation = observed.job.generation;
  const auto& pods = observed.sample.pods;
  const bool reporting = std::any_of(pods.begin(), pods.end(), [&](const telemetry::PodSample& pod) {
    return pod.connected && pod.window.sequence() > 0 && now.monotonic - pod.reported_at < options.metrics_stale_after;
  });
  if (reporting) {
    SetCondition(status, api::kMetricsAvailable, true, kReasonReporting, "sidecars report", generation, now.wall);
    return;
  }
  // No sidecar yet in this process' life: after a restart they need a moment, so what is recorded stands until they
  // said something.
  if (pods.empty() && api::IsTrue(status, api::kMetricsAvailable)) return;
  SetCondition(status, api::kMetricsAvailable, false, kReasonNoReports,
               "no sidecar reports; training does not depend on it, but progress and loss are not shown", generation,
               now.wall);
}

// What is refused to this operator. Absent until something was.
void SetBlocked(const Observed& observed, TrainingJobStatus& status, Now now) {
  constexpr size_t kShownMax = 3;
  const auto& blocked = observed.blocked;
  const int64_t generation = observed.job.generation;
  if (blocked.empty()) {
    if (api::FindCondition(status, api::kBlocked) == nullptr) return;
    return SetCondition(status, api::kBlocked, false, kReasonSettled, "nothing is refused", generation, now.wall);
  }
  std::string message;
  for (size_t i = 0; i < std::min(blocked.size(), kShownMax); ++i) {
    message += (i == 0 ? "" : "; ") + blocked[i].message;
  }
  if (blocked.size() > kShownMax) message += "; and " + std::to_string(blocked.size() - kShownMax) + " more";
  SetCondition(status, api::kBlocked, true, blocked.front().reason,
               message + ". It is tried again from time to time; nothing else waits for it", generation, now.wall);
}

// Absent until there was something to say. The time of a message is that of when it became true: it is not rewritten
// every second.
void SetProgressing(const Observed& observed, const Standstill& standstill, TrainingJobStatus& status, Now now) {
  const api::Condition* known = api::FindCondition(status, api::kProgressing);
  const int64_t generation = observed.job.generation;
  if (!standstill.any()) {
    // Until this operator has seen a step end, what is on record stands.
    if (known == nullptr || !observed.sample.progressed_at) return;
    return SetCondition(status, api::kProgressing, true, kReasonProgressing, "steps end", generation, now.wall);
  }
  const char* reason = standstill.since ? kReasonNoProgress : kReasonNotHeard;
  const std::string what = Describe(standstill) + ", since ";
  const bool reported = known != nullptr && known->reason == reason && known->message.starts_with(what);
  const MonotonicTime since = standstill.since.value_or(now.monotonic);
  SetCondition(status, api::kProgressing, !standstill.since, reason,
               reported ? known->message : what + ToRfc3339(now.wall - (now.monotonic - since)), generation, now.wall);
}

// A restart is on record before it happens.
void SetStandstill(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                   TrainingJobStatus& status, Now now) {
  if (const auto pods = DueForRestart(observed, servers, options, now); !pods.empty()) {
    const int32_t before = status.standstill ? status.standstill->restarts : 0;
    status.standstill = api::StandstillStatus{.restarts = before + 1, .restarted_at = ToRfc3339(now.wall), .pods = {}};
    for (const ObservedPod* pod : pods) status.standstill->pods.push_back(contract::PodNumber(pod->uid));
  } else if (HasRecoveredFromStandstill(observed, options, now)) {
    status.standstill.reset();
  }
}

void SetReady(const Observed& observed, const Readiness& servers, const Readiness& workers, TrainingJobStatus& status,
              Now now) {
  const int64_t generation = observed.job.generation;
  SetCondition(status, api::kServersReady, servers.ready, servers.reason, servers.message, generation, now.wall);
  SetCondition(status, api::kWorkersReady, workers.ready, workers.reason, workers.message, generation, now.wall);
  const auto taken = std::ranges::find_if(observed.blocked, [](const BlockedAct& act) {
    return act.reason == std::string_view(kReasonNameTaken) && !IsAboutTuner(act);
  });
  if (taken != observed.blocked.end()) {
    SetCondition(status, api::kReady, false, kReasonNameTaken, taken->message, generation, now.wall);
  } else if (servers.ready && workers.ready) {
    SetCondition(status, api::kReady, true, kReasonReady, "servers and workers are ready", generation, now.wall);
  } else {
    const Readiness& first = servers.ready ? workers : servers;
    SetCondition(status, api::kReady, false, first.reason, first.message, generation, now.wall);
  }
}

// Stays for good: that training has begun, and with how many it continued last. While some come or go nothing is said.
void SetTrainingStarted(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                        TrainingJobStatus& status, Now now) {
  if (!api::IsTrue(status, api::kReady)) return;
  const bool as_wanted = servers.ready == observed.job.spec.servers.replicas &&
                         workers.ready == observed.job.spec.workers.replicas && servers.leaving.empty() &&
                         workers.leaving.empty();
  if (!as_wanted && api::FindCondition(status, kTrainingStarted) != nullptr) return;
  SetCondition(status, kTrainingStarted, true, kReasonReady,
               Counted(servers.ready, "server") + " and " + Counted(workers.ready, "worker") + " are ready",
               observed.job.generation, now.wall);
}

// A process that is not heard of is not ready, whatever its container is.
Readiness Heard(Readiness readiness, const Standstill& standstill, RoleName role) {
  const auto silent =
      std::ranges::find_if(standstill.silent, [&](const ObservedPod* pod) { return pod->role == role; });
  if (!readiness.ready || silent == standstill.silent.end()) return readiness;
  return {false, kReasonNotHeard, (*silent)->name + " runs, and its process is not heard of"};
}

// For display only; nothing decides by it.
std::string Phase(const TrainingJobStatus& status, const ServersView& servers, const WorkersView& workers) {
  if (api::IsTrue(status, api::kSucceeded)) return "Succeeded";
  if (api::IsTrue(status, api::kFailed)) return "Failed";
  if (servers.formed && workers.running + workers.succeeded > 0) return "Running";
  const bool any = servers.started > 0 || std::any_of(servers.by_index.begin(), servers.by_index.end(),
                                                      [](const auto* pod) { return pod != nullptr && pod->scheduled; });
  return any ? "Starting" : "Pending";
}

void SetResult(const Observed& observed, TrainingJobStatus& status) {
  constexpr size_t kSummaryBytesMax = 4096;
  constexpr size_t kMetricsMax = 64;
  if (!observed.sample.final_report) return;
  const auto& report = *observed.sample.final_report;
  api::JobResult result;
  const std::map<std::string, double> metrics(report.metrics().begin(), report.metrics().end());
  for (const auto& [name, value] : metrics) {
    if (result.metrics.size() < kMetricsMax) result.metrics[FitText(name, 128)] = value;
  }
  result.left_out = FitText(report.left_out(), 1024);
  if (metrics.size() > kMetricsMax) {
    result.left_out += (result.left_out.empty() ? "" : "; ") +
                       Counted(static_cast<int64_t>(metrics.size() - kMetricsMax), "metric") + " beyond the " +
                       std::to_string(kMetricsMax) + " that are kept";
  }
  result.summary = FitText(report.summary(), kSummaryBytesMax);
  result.model_path = FitText(report.model_path(), 1024);
  status.result = std::move(result);
}

// As the coordinator said last, however long ago.
void SetMetrics(const Observed& observed, TrainingJobStatus& status) {
  if (observed.sample.job && !observed.sample.job->metrics().empty()) status.metrics = MetricsOf(*observed.sample.job);
}

constexpr std::string_view kGoalIsReached = "the coordinator has said that the goal is reached";

// With the reason, once that has been heard: who says so may be gone later.
void SetGoalReached(const Observed& observed, TrainingJobStatus& status, Now now) {
  constexpr size_t kReasonBytesMax = 512;
  std::string message(kGoalIsReached);
  if (observed.sample.job && !observed.sample.job->goal_reason().empty()) {
    message += ": " + FitText(observed.sample.job->goal_reason(), kReasonBytesMax);
  } else if (api::IsTrue(status, kGoalReached)) {
    return;
  }
  SetCondition(status, kGoalReached, true, kGoalReached, message, observed.job.generation, now.wall);
}

// "held_out_loss <= 3.2 at epoch 41 (3.187)"; "" when it is not known.
std::string GoalReason(const TrainingJobStatus& status) {
  const api::Condition* reached = api::FindCondition(status, kGoalReached);
  if (reached == nullptr || !reached->message.starts_with(std::string(kGoalIsReached) + ": ")) return "";
  return reached->message.substr(kGoalIsReached.size() + 2);
}

// That there is a data set for the closing work is on record before it is done: who says so may be gone by then.
void SetClosingDone(const Observed& observed, const ServersView& servers, TrainingJobStatus& status, Now now) {
  if (!servers.goal_reached || api::IsTrue(status, kClosingDone)) return;  // with what is said first
  const v1::Closing* word = LastWordOnClosing(observed);
  const api::Condition* known = api::FindCondition(status, kClosingDone);
  const bool declared =
      (word != nullptr && word->declared()) || (known != nullptr && known->reason == kReasonClosingDeclared);
  if (!servers.closed) {
    if (!declared) return;
    return SetCondition(status, kClosingDone, false, kReasonClosingDeclared, "the closing work is not done yet",
                        observed.job.generation, now.wall);
  }
  SetCondition(status, kClosingDone, true, declared ? kReasonClosingDone : kReasonWorkersLeft,
               declared ? "every item of the closing work is done" : "the workers have left in order",
               observed.job.generation, now.wall);
}

// The workers' sidecars go with them: what is shown of a job that ended is its last loss and its mean rate.
void SetLastFigures(const telemetry::JobSample& sample, api::Progress& progress) {
  if (sample.mean_rate > 0) progress.rate = sample.mean_rate;
  if (!progress.loss) progress.loss = sample.last_loss;
  progress.slowest_worker.clear();
  progress.moving_bytes_left.reset();
  progress.moving_rows_per_second.reset();
}

void SetVerdict(const Observed& observed, const Verdict& verdict, TrainingJobStatus& status, Now now) {
  const int64_t generation = observed.job.generation;
  const char* type = verdict.success ? api::kSucceeded : api::kFailed;
  std::string message = verdict.message;
  if (const std::string goal = GoalReason(status); verdict.success && !goal.empty()) message += "; goal: " + goal;
  SetCondition(status, type, true, verdict.reason, message, generation, now.wall);
  SetCondition(status, api::kReady, false, kReasonFinished, verdict.success ? "the job succeeded" : "the job failed",
               generation, now.wall);
  // Nothing that is about its pods is true any more; what was not is left, with its reason.
  constexpr char kEnded[] = "the job has ended";
  for (const char* about_pods : {api::kServersReady, api::kWorkersReady, api::kMetricsAvailable, api::kReconfiguring,
                                 api::kProgressing, kDegraded}) {
    if (api::IsTrue(status, about_pods))
      SetCondition(status, about_pods, false, kReasonFinished, kEnded, generation, now.wall);
  }
  if (api::FindCondition(status, api::kTuning) != nullptr)
    SetCondition(status, api::kTuning, false, kReasonFinished, kEnded, generation, now.wall);
  status.completion_time = ToRfc3339(now.wall);
  if (status.progress) SetLastFigures(observed.sample, *status.progress);
  if (verdict.success && status.progress) {
    status.progress->fraction = 1;
    status.progress->remaining_seconds = 0;
  } else if (status.progress) {
    status.progress->remaining_seconds.reset();
  }
}

void Set(TrainingJobStatus& status, const char* type, const char* value, std::string reason, std::string_view message,
         int64_t generation, WallTime now) {
  auto found = std::ranges::find(status.conditions, type, &api::Condition::type);
  if (found == status.conditions.end()) {
    found = status.conditions.insert(found, api::Condition{});
    found->type = type;
  }
  if (found->status != value) found->last_transition_time = ToRfc3339(now);
  // The kubelet reports a failing pull in changing words; one of them is enough.
  const bool same_story = found->status == value && found->reason == reason && reason == kReasonImage;
  found->status = value;
  found->reason = std::move(reason);
  if (!same_story) found->message = FitText(message, kConditionMessageBytesMax);
  found->observed_generation = generation;
}

}  // namespace

void SetCondition(TrainingJobStatus& status, const char* type, bool value, std::string reason, std::string_view message,
                  int64_t generation, WallTime now) {
  Set(status, type, value ? "True" : "False", std::move(reason), message, generation, now);
}

void SetUnknown(TrainingJobStatus& status, const char* type, std::string reason, std::string_view message,
                int64_t generation, WallTime now) {
  Set(status, type, "Unknown", std::move(reason), message, generation, now);
}

TrainingJobStatus BuildStatus(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                              const Progression& progression, const std::optional<Verdict>& verdict,
                              const PlanOptions& options, Now now) {
  TrainingJobStatus status = observed.job.status;
  status.observed_generation = observed.job.generation;
  status.move = progression.move;
  status.machine_losses = progression.machine_losses;
  status.suspension = progression.suspension;
  if (status.start_time.empty()) status.start_time = ToRfc3339(now.wall);
  status.worker_selector = RoleSelector(observed.job, RoleName::kWorker);
  // A failure counts once its pod is marked with its number; the one that ends the job is never marked.
  const auto silent = [&](RoleName role) {
    return static_cast<int32_t>(std::ranges::count_if(progression.standstill.silent,
                                                      [&](const ObservedPod* pod) { return pod->role == role; }));
  };
  status.servers = {servers.existing, servers.ready, verdict ? servers.failures : servers.marked_failures};
  status.workers = {workers.existing, workers.ready, verdict ? workers.failures : workers.marked_failures};
  // Whatever a kubelet says: it looks at a container, not at what the process does.
  status.servers.ready = std::max(0, status.servers.ready - silent(RoleName::kServer));
  status.workers.ready = std::max(0, status.workers.ready - silent(RoleName::kWorker));
  if (!verdict) {
    status.servers.usage = UsageOf(observed, RoleName::kServer, now);
    status.workers.usage = UsageOf(observed, RoleName::kWorker, now);
    status.rows = RowPlacesOf(observed, now);
  }
  std::erase_if(status.conditions,
                [](const auto& c) { return c.type == api::kFailed; });  // of a manifest since repaired
  SetDataPlane(observed, servers, progression, status);
  if (servers.goal_reached) {
    SetGoalReached(observed, status, now);
  }
  SetClosingDone(observed, servers, status, now);
  SetReady(observed, Heard(ServersReadiness(observed, servers), progression.standstill, RoleName::kServer),
           Heard(WorkersReadiness(observed, servers, workers), progression.standstill, RoleName::kWorker), status, now);
  SetTrainingStarted(observed, servers, workers, status, now);
  if (ArePodsPlaced(observed) == true)
    SetCondition(status, kAllPlaced, true, kAllPlaced, "all pods had a machine at the same time",
                 observed.job.generation, now.wall);
  SetMetricsAvailable(observed, options, status, now);
  SetReconfiguring(observed, servers, workers, progression, status, now);
  SetBlocked(observed, status, now);
  SetSuspended(observed, status, now);
  SetTuning(observed, status, now);
  SetPolicy(observed, status, now);
  if (!verdict) SetProgressing(observed, progression.standstill, status, now);
  if (!verdict) SetDegraded(observed, status, now);
  if (!verdict) SetStandstill(observed, servers, options, status, now);
  if (auto progress = MakeProgress(observed, now)) status.progress = std::move(progress);
  if (status.progress && progression.standstill.since) status.progress->remaining_seconds.reset();  // not known
  SetResult(observed, status);
  SetMetrics(observed, status);
  if (verdict) {
    if (verdict->reason == kReasonServerFailed || verdict->reason == kReasonServerLost)
      status.servers.failed = std::max(status.servers.failed, 1);
    SetVerdict(observed, *verdict, status, now);
  }
  status.phase = Phase(status, servers, workers);
  return status;
}

TrainingJobStatus BuildInvalidStatus(const Observed& observed, Now now) {
  constexpr size_t kProblemsMax = 20;
  TrainingJobStatus status = observed.job.status;
  status.observed_generation = observed.job.generation;
  std::string message = std::to_string(observed.problems.size()) +
                        (observed.problems.size() == 1 ? " problem in the manifest:" : " problems in the manifest:");
  for (size_t i = 0; i < std::min(observed.problems.size(), kProblemsMax); ++i) {
    message += "\n" + api::ToString(observed.problems[i]);
  }
  const bool running = std::any_of(observed.pods.begin(), observed.pods.end(), [&](const ObservedPod& pod) {
    return pod.index >= 0 && pod.job_uid == observed.job.uid;
  });
  if (running) {
    SetCondition(status, api::kReconfiguring, false, kReasonInvalid,
                 message + "\nThe job continues as it is; correct the manifest to steer it again",
                 observed.job.generation, now.wall);
    return status;
  }
  SetCondition(status, api::kFailed, true, kReasonInvalid, message, observed.job.generation, now.wall);
  SetCondition(status, api::kReady, false, kReasonInvalid, "the manifest has problems, see condition Failed",
               observed.job.generation, now.wall);
  status.phase = "Failed";
  return status;
}

api::TrainingJobStatus BuildEndedStatus(const Observed& observed, Now now) {
  api::TrainingJobStatus status = observed.job.status;
  SetBlocked(observed, status, now);
  if (!status.result) SetResult(observed, status);
  SetMetrics(observed, status);
  return status;
}

bool HasEnded(const TrainingJobStatus& status) {
  if (api::IsTrue(status, api::kSucceeded)) return true;
  const api::Condition* failed = api::FindCondition(status, api::kFailed);
  // A manifest can be repaired; every other failure is final.
  return failed != nullptr && failed->status == "True" && failed->reason != kReasonInvalid;
}

}  // namespace attune::controller
