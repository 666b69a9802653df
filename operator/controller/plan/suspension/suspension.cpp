#include "operator/controller/plan/suspension/suspension.h"

#include <algorithm>

#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/requests/checkpoint_interval.h"
#include "operator/controller/plan/suspension/gang_start.h"

namespace attune::controller {
namespace {

using api::SuspensionStatus;

constexpr Duration kQueueWaits = std::chrono::minutes(5);  // for the checkpoint of a job that it has evicted
constexpr int64_t kGraceSeconds = 10;  // what a process does now is done again: only an orderly end is waited for

// "id=7 why=its figures fit nowhere"
std::string WhyOfRequest(const std::string& request) {
  const size_t why = request.find("why=");
  return why == std::string::npos ? "a restart was asked for" : request.substr(why + 4);
}

// What was asked for, and by whom. A restart that spec.suspend joins stays suspended at its end.
void TakeUp(const Observed& observed, SuspensionStatus& record) {
  if (HasNewRestartRequest(observed)) {
    record.request = observed.job.restart_request;
    record.why = WhyOfRequest(record.request);
    record.restarts = true;
  } else {
    record.why = WhyHeld(observed);
    record.restarts = false;
  }
}

// Why this job has no checkpoint that it could continue from; "" when it can have one.
std::string Obstacle(const Observed& observed, const PlanOptions& options) {
  if (!CheckpointsOutlastPods(observed.job, options)) {
    return "a checkpoint would go with the pods: set spec.model.claim to a volume that all of them mount, or "
           "spec.checkpoint.directory";
  }
  const auto abilities = AbilitiesOf(observed);
  if (abilities && !abilities->checkpoints) return "the servers of this job cannot write checkpoints while it runs";
  return "";
}

// The newest checkpoint that the leading coordinator has reported.
bool IsNewer(const v1::JobWindow& window, const SuspensionStatus& record) {
  return window.has_checkpoint() && !window.checkpoint().directory().empty() &&
         (window.checkpoint().directory() != record.directory || window.checkpoint().number() != record.checkpoint);
}

// What is there already is not the one that is asked for.
void NoteNewest(const Observed& observed, const v1::JobWindow* window, SuspensionStatus& record) {
  const auto& known = observed.job.status.checkpoint;
  record.directory = known ? known->directory : "";
  record.checkpoint = known ? known->number : 0;
  if (window == nullptr || !IsNewer(*window, record)) return;
  record.directory = window->checkpoint().directory();
  record.checkpoint = window->checkpoint().number();
}

void AskForCheckpoint(const Observed& observed, Now now, Directives& directives, Draft& draft,
                      SuspensionStatus& record) {
  const v1::JobWindow* window = directives.window();
  draft.Requeue(kLookAgain, "the checkpoint that the job is to continue from");
  if (window == nullptr) {
    record.message = "waiting for the coordinator, which is to write a checkpoint";
    return;
  }
  if (IsNewer(*window, record)) {
    record.directory = window->checkpoint().directory();
    record.checkpoint = window->checkpoint().number();
    return Enter(record, api::kSuspensionReleasing, now);
  }
  v1::Directive directive;
  directive.mutable_checkpoint()->set_directory(observed.job.spec.checkpoint.directory);
  const Reply reply = directives.AskCoordinator("checkpoint of suspension " + record.since, directive,
                                                "the job is to continue from it");
  if (reply.state == Reply::State::kRefused) {
    record.message = "the checkpoint was not written: " + FitText(reply.message, 1024) + ". It is tried again";
  } else {
    record.message = "a checkpoint is being written";
  }
}

// What some of its pods may have trained without the others is done again.
SuspensionStatus GiveUpAttempt(std::string why, const std::optional<SuspensionStatus>& record, Now now, Draft& draft) {
  SuspensionStatus next = record.value_or(SuspensionStatus());
  Enter(next, api::kSuspensionReleasing, now);
  next.why = std::move(why);
  next.restarts = true;
  ++next.gang_tries;
  draft.Requeue(kLookAgain, "the record of the attempt that is given up");
  return next;
}

bool IsHeldByQueue(const Observed& observed) { return IsHeld(observed) && !observed.job.spec.suspend; }

// The machines are others' now, whatever this job loses with them.
SuspensionStatus ReleaseWithoutCheckpoint(const Observed& observed, const std::string& obstacle,
                                          SuspensionStatus record, Now now, Draft& draft) {
  TakeUp(observed, record);
  Enter(record, api::kSuspensionReleasing, now);
  record.restarts = false;
  record.why += "; what it has trained since its last checkpoint is done again: " + obstacle;
  draft.Requeue(kLookAgain, "the record of the suspension");
  return record;
}

// One whose machine does not answer is not waited for: what may still run there belongs to an attempt that no later
// process accepts.
void Release(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now, Draft& draft) {
  draft.Remove(pod, kGraceSeconds, "the job gives its machines back");
  draft.Requeue(kLookAgain, "the end of " + pod.name);
  if (IsBeingDeleted(pod) && SignsOf(observed, pod, options, now).machine_is_gone()) {
    draft.ForceDelete(pod, "its machine is lost");
  }
}

}  // namespace

bool HasNewRestartRequest(const Observed& observed) {
  const std::string& request = observed.job.restart_request;
  const auto& known = observed.job.status.suspension;
  return !request.empty() && (!known || known->request != request);
}

void Enter(SuspensionStatus& record, const char* state, Now now) {
  record.state = state;
  record.since = ToRfc3339(now.wall);
  record.message.clear();
}

bool IsWithoutPods(const api::TrainingJobStatus& status) {
  const auto& record = status.suspension;
  return record && (record->state == api::kSuspensionReleasing || record->state == api::kSuspensionSuspended);
}

bool IsHeld(const Observed& observed) {
  return observed.job.spec.suspend || (observed.queue && !observed.queue->hold.empty());
}

std::string WhyHeld(const Observed& observed) {
  return observed.job.spec.suspend || !observed.queue ? kSuspendedBySpec : observed.queue->hold;
}

bool IsBornHeld(const Observed& observed) {
  return IsHeld(observed) && observed.job.status.start_time.empty() && !observed.job.status.suspension;
}

bool IsSuspending(const api::TrainingJobStatus& status) {
  return IsWithoutPods(status) || (status.suspension && status.suspension->state == api::kSuspensionCheckpointing);
}

bool IsToBeSuspended(const Observed& observed) { return IsHeld(observed) || HasNewRestartRequest(observed); }

std::optional<SuspensionStatus> NextSuspension(const Observed& observed, const ServersView& servers, bool ends,
                                               const PlanOptions& options, Now now, Directives& directives,
                                               Draft& draft) {
  std::optional<SuspensionStatus> record = observed.job.status.suspension;
  const GangView gang = LookAtGang(observed, now);
  if (gang.again) draft.Requeue(*gang.again, "the machines of all pods");
  if (gang.shortage && !ends && !IsToBeSuspended(observed)) return GiveUpAttempt(*gang.shortage, record, now, draft);
  if (record && api::FindCondition(observed.job.status, kTrainingStarted) != nullptr) record->gang_tries = 0;
  const std::string state = record ? record->state : "";
  const bool is_restart = record && state == api::kSuspensionCheckpointing && record->restarts;
  if ((!IsToBeSuspended(observed) && !is_restart) || ends) {
    // The refusal of a restart stands until there is another request.
    const bool is_over = state == api::kSuspensionCheckpointing ||
                         (state == api::kSuspensionRefused && (record->why == kSuspendedBySpec || ends));
    if (is_over) {
      Enter(*record, api::kSuspensionResumed, now);
      record->restarts = false;
      record->message = ends ? "the job is about to end" : "the request was withdrawn";
    }
    return record;
  }
  if (!record) record.emplace();
  if (!servers.begun) {
    TakeUp(observed, *record);
    Enter(*record, api::kSuspensionReleasing, now);
    draft.Requeue(kLookAgain, "the record of the suspension");
    return record;
  }
  if (const std::string obstacle = Obstacle(observed, options); !obstacle.empty()) {
    if (IsHeldByQueue(observed)) return ReleaseWithoutCheckpoint(observed, obstacle, *std::move(record), now, draft);
    if (state != api::kSuspensionRefused) Enter(*record, api::kSuspensionRefused, now);
    TakeUp(observed, *record);
    record->restarts = false;
    record->message = obstacle;
    return record;
  }
  if (state != api::kSuspensionCheckpointing) {
    TakeUp(observed, *record);
    Enter(*record, api::kSuspensionCheckpointing, now);
    NoteNewest(observed, directives.window(), *record);
    draft.Requeue(kLookAgain, "the record of the suspension");
    return record;
  }
  if (HasNewRestartRequest(observed)) record->request = observed.job.restart_request;
  const auto since = ParseRfc3339(record->since);
  if (IsHeldByQueue(observed) && since && now.wall - *since > kQueueWaits) {
    const std::string obstacle = "no checkpoint was written: " + record->message;
    return ReleaseWithoutCheckpoint(observed, obstacle, *std::move(record), now, draft);
  }
  AskForCheckpoint(observed, now, directives, draft, *record);
  return record;
}

void ReleasePods(const Observed& observed, const PlanOptions& options, Now now, Draft& draft) {
  const bool any_worker =
      std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) { return IsWorkerOf(observed, pod); });
  for (const ObservedPod& pod : observed.pods) {
    const bool goes_later = any_worker && pod.role == RoleName::kServer;
    if (IsOfJob(observed, pod) && !goes_later) Release(observed, pod, options, now, draft);
  }
}

void RequestRestart(const Observed& observed, const std::string& why, Now now, Draft& draft) {
  if (IsToBeSuspended(observed) || IsSuspending(observed.job.status)) return;
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now.wall.time_since_epoch()).count();
  kube::Json patch;
  patch["metadata"]["uid"] = observed.job.uid;
  patch["metadata"]["annotations"][api::kAnnotationRestart] = "id=" + std::to_string(time) + " why=" + why;
  draft.Create(PatchJob{std::move(patch), "the job is to be restarted: " + why});
}

}  // namespace attune::controller
