#include "operator/controller/status/suspended.h"

#include <algorithm>
#include <string>

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/suspension/gang_start.h"
#include "operator/controller/plan/suspension/suspension.h"
#include "operator/controller/status/degraded.h"
#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

using api::SuspensionStatus;

// What the next attempt must not take for its own. Failures so far, the progress and the checkpoints are the job's.
void BeginNextAttempt(const Observed& observed, api::TrainingJobStatus& status, Now now) {
  SuspensionStatus& record = *status.suspension;
  Enter(record, api::kSuspensionResumed, now);
  record.restarts = false;
  record.resumed = ToRfc3339(now.wall);
  if (status.start_time.empty()) return;  // it never had a process
  ++record.attempt;
  const int64_t heard = observed.sample.job ? static_cast<int64_t>(observed.sample.job->term()) : 0;
  status.coordinator_term = std::max({int64_t{1}, status.coordinator_term, heard}) + 1;
  status.coordinator.clear();
  status.coordinator_voters.reset();
  status.begun = false;
  status.abilities.reset();
  status.standstill.reset();
  if (status.move && status.move->state == api::kMoving) {
    status.move->state = api::kMoveGivenUp;
    status.move->ended = ToRfc3339(now.wall);
    status.move->message = "all pods of the job were made again";
  }
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == kTrainingStarted || condition.type == kAllPlaced || condition.type == api::kProgressing;
  });
}

std::string Waiting(const Observed& observed) {
  int64_t pods = 0;
  std::string first;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsOfJob(observed, pod)) continue;
    if (pods++ == 0) first = pod.name;
  }
  return "waiting for the end of " + (pods == 1 ? first : Counted(pods, "pod"));
}

void SetIdle(const Observed& observed, api::TrainingJobStatus& status, Now now) {
  const int64_t generation = observed.job.generation;
  constexpr char kNoPods[] = "the job is suspended";
  for (const char* type : {api::kReady, api::kServersReady, api::kWorkersReady, api::kMetricsAvailable}) {
    SetCondition(status, type, false, kReasonSuspended, kNoPods, generation, now.wall);
  }
  for (const char* type : {api::kReconfiguring, api::kTuning, api::kProgressing, kDegraded}) {
    if (api::FindCondition(status, type) == nullptr) continue;
    SetCondition(status, type, false, kReasonSuspended, kNoPods, generation, now.wall);
  }
  int32_t servers = 0, workers = 0;
  for (const ObservedPod& pod : observed.pods) {
    if (IsOfJob(observed, pod)) ++(pod.role == RoleName::kServer ? servers : workers);
  }
  status.servers = {servers, 0, status.servers.failed};
  status.workers = {workers, 0, status.workers.failed};
  if (status.progress) {
    status.progress->rate.reset();
    status.progress->remaining_seconds.reset();
    status.progress->slowest_worker.clear();
    status.progress->moving_bytes_left.reset();
    status.progress->moving_rows_per_second.reset();
  }
}

// Of an attempt that was given up for want of machines; counted from when its pods were gone.
Duration GangPauseLeft(const api::TrainingJob& job, const SuspensionStatus& record, Now now) {
  const bool is_gang = job.spec.start_policy.gang_timeout_seconds.has_value();
  if (!is_gang || record.gang_tries == 0 || !record.restarts) return Duration::zero();
  const Duration pause = GangPause(job, record.gang_tries);
  if (record.state != api::kSuspensionSuspended) return pause;
  const auto since = ParseRfc3339(record.since);
  return since ? std::clamp<Duration>(pause - (now.wall - *since), Duration::zero(), pause) : Duration::zero();
}

// "checkpoint 7 in /models/checkpoints"; "nothing: it had not begun".
std::string PlaceToContinue(const SuspensionStatus& record) {
  if (record.directory.empty()) return "its beginning";
  return "checkpoint " + std::to_string(record.checkpoint) + " in " + record.directory;
}

}  // namespace

api::TrainingJobStatus BuildSuspendedStatus(const Observed& observed, Now now, Draft& draft) {
  api::TrainingJobStatus status = observed.job.status;
  if (!status.suspension) {
    Enter(status.suspension.emplace(), api::kSuspensionReleasing, now);
    status.suspension->why = WhyHeld(observed);
  }
  SuspensionStatus& record = *status.suspension;
  status.observed_generation = observed.job.generation;
  std::erase_if(status.conditions,
                [](const auto& condition) { return condition.type == api::kFailed; });  // of a manifest since repaired
  const bool any = HasPods(observed);
  if (any) {
    if (status.start_time.empty()) status.start_time = ToRfc3339(now.wall);  // it has had processes
    record.message = Waiting(observed);
  } else if (IsHeld(observed)) {
    if (record.state != api::kSuspensionSuspended) Enter(record, api::kSuspensionSuspended, now);
    if (HasNewRestartRequest(observed)) record.request = observed.job.restart_request;  // its pods will be new anyway
    record.restarts = false;
    if (!observed.job.spec.suspend) record.why = WhyHeld(observed);  // a queue has something new to say now and then
  } else if (const Duration pause = GangPauseLeft(observed.job, record, now); pause > Duration::zero()) {
    if (record.state != api::kSuspensionSuspended) {
      Enter(record, api::kSuspensionSuspended, now);
      record.message = "it is tried again at " + ToRfc3339(now.wall + pause);
    }
    draft.Requeue(pause, "the next attempt to find machines for all pods");
  } else {
    BeginNextAttempt(observed, status, now);
    draft.Requeue(kLookAgain, "the record of the next attempt");
  }
  SetIdle(observed, status, now);
  SetSuspended(observed, status, now);
  status.phase = "Suspended";
  return status;
}

void SetSuspended(const Observed& observed, api::TrainingJobStatus& status, Now now) {
  const auto& record = status.suspension;
  if (!record || record->state.empty()) return;
  const auto set = [&](bool value, const char* reason, const std::string& message) {
    SetCondition(status, api::kSuspended, value, reason, message, observed.job.generation, now.wall);
  };
  if (record->state == api::kSuspensionSuspended) {
    const std::string when = record->message.empty() ? "" : "; " + record->message;
    const bool by_queue = IsHeld(observed) && !observed.job.spec.suspend;
    return set(true, by_queue ? kReasonQueued : kReasonSuspended,
               record->why + "; it will continue from " + PlaceToContinue(*record) + when);
  }
  if (record->state == api::kSuspensionReleasing) {
    return set(false, kReasonSuspending, record->message.empty() ? "its pods are to end" : record->message);
  }
  if (record->state == api::kSuspensionCheckpointing) return set(false, kReasonSuspending, record->message);
  if (record->state == api::kSuspensionRefused) {
    return set(false, kReasonSuspensionRefused, record->why + ", but " + record->message);
  }
  if (!record->message.empty()) return set(false, kReasonResumed, record->message);
  set(false, kReasonResumed, "it continues from " + PlaceToContinue(*record));
}

void ReportSuspension(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                      const Draft::Needs& written, Draft& draft) {
  if (!next.suspension) return;
  const SuspensionStatus& now = *next.suspension;
  const std::string state = before.suspension ? before.suspension->state : "";
  if (now.state == state) return;
  if (now.state == api::kSuspensionSuspended) {
    const bool had_pods = !next.start_time.empty();
    draft.Normal(kEventSuspended, "Suspend",
                 (had_pods ? "The job has no pods any more: " : "The job has no pods yet: ") + now.why +
                     ". It will continue from " + PlaceToContinue(now),
                 written);
  } else if (now.state == api::kSuspensionRefused) {
    draft.Warn(kEventSuspensionRefused, "Suspend", "The job continues: " + now.why + ", but " + now.message, written);
  } else if (now.state == api::kSuspensionReleasing) {
    draft.Normal(kEventSuspending, "Suspend", "The pods of the job go: " + now.why, written);
  } else if (now.state == api::kSuspensionResumed && IsWithoutPods(before)) {
    draft.Normal(kEventResumed, "Resume", "The job continues from " + PlaceToContinue(now), written);
  }
}

}  // namespace attune::controller
