#include "operator/controller/plan.h"

#include "operator/api/format.h"
#include "operator/controller/actions/change_setting.h"
#include "operator/controller/actions/draft.h"
#include "operator/controller/members/machine_losses.h"
#include "operator/controller/members/move.h"
#include "operator/controller/members/move_planner.h"
#include "operator/controller/members/placement_moves.h"
#include "operator/controller/members/resize_moves.h"
#include "operator/controller/objects/job_policy.h"
#include "operator/controller/objects/job_secret.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/plan/coordinator.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/requests/requests.h"
#include "operator/controller/plan/resizes.h"
#include "operator/controller/plan/server_changes.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/plan/suspension/restart_to_resize.h"
#include "operator/controller/plan/suspension/suspension.h"
#include "operator/controller/plan/verdicts/deadline.h"
#include "operator/controller/plan/verdicts/ending.h"
#include "operator/controller/plan/verdicts/failure_policy.h"
#include "operator/controller/plan/verdicts/jobless_pods.h"
#include "operator/controller/plan/verdicts/server_verdicts.h"
#include "operator/controller/plan/workers.h"
#include "operator/controller/policies/bounds.h"
#include "operator/controller/queue/queue_acts.h"
#include "operator/controller/status/status.h"
#include "operator/controller/status/status_write.h"
#include "operator/controller/status/suspended.h"

namespace attune::controller {
namespace {

constexpr Duration kOwnWriteWait = std::chrono::milliseconds(200);  // until what this plan writes is seen

std::string ReasonOf(const api::TrainingJobStatus& status, const char* type) {
  const api::Condition* condition = api::FindCondition(status, type);
  return condition == nullptr ? "" : condition->reason;
}

// Training starts once; whenever all are ready in another number afterwards, the job was scaled.
void ReportScale(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next, const Draft::Needs& written,
                 Draft& draft) {
  const api::Condition* now = api::FindCondition(next, kTrainingStarted);
  const api::Condition* then = api::FindCondition(before, kTrainingStarted);
  if (now == nullptr || (then != nullptr && then->message == now->message)) return;
  if (then == nullptr) return draft.Normal(kEventTrainingStarted, "Train", now->message, written);
  draft.Normal(kEventScaled, "Scale", now->message + " (before: " + then->message + ")", written);
}

// Events that go with a change of conditions, so that each is sent once.
void ReportTransitions(const Observed& observed, const api::TrainingJobStatus& next, const Draft::Needs& written,
                       Draft& draft) {
  const api::TrainingJobStatus& before = observed.job.status;
  const auto became_true = [&](const char* type) { return api::IsTrue(next, type) && !api::IsTrue(before, type); };
  const auto message = [&](const char* type) { return api::FindCondition(next, type)->message; };
  ReportScale(before, next, written, draft);
  if (became_true(api::kSucceeded)) draft.Normal(kEventSucceeded, "Finish", message(api::kSucceeded), written);
  if (became_true(api::kFailed)) draft.Warn(kEventFailed, "Finish", message(api::kFailed), written);
  for (const char* type : {api::kReady, api::kReconfiguring}) {
    const std::string reason = ReasonOf(next, type);
    const bool needs_help =
        reason == kReasonUnschedulable || reason == kReasonImage || reason == kReasonContainerConfig ||
        reason == kReasonServersFixed || reason == kReasonScalingRefused || reason == kReasonSynchronizationRefused ||
        reason == kReasonRowManagementRefused || reason == kReasonThreadsRefused || reason == kReasonResizeRefused;
    if (needs_help && reason != ReasonOf(before, type)) draft.Warn(reason.c_str(), "Reconcile", message(type), written);
  }
}

// Whom the job waits for, or who is not heard of, once; and that steps end again.
void ReportStandstill(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                      const Draft::Needs& written, Draft& draft) {
  const api::Condition* now = api::FindCondition(next, api::kProgressing);
  const api::Condition* then = api::FindCondition(before, api::kProgressing);
  if (now == nullptr || (then != nullptr && then->reason == now->reason && then->message == now->message)) return;
  if (now->reason != kReasonProgressing) {
    draft.Warn(now->reason.c_str(), "Watch", now->message, written);
  } else if (then != nullptr && then->reason == kReasonNoProgress) {
    draft.Normal(kEventProgressing, "Watch", "Steps end again. Before: " + then->message, written);
  }
}

// The coordinator counts a recovery when it is complete, so that what it cost is in the same report. A shard that went
// back is a loss also when the checkpoint has no row of it. The totals of a coordinator that took over begin again.
void ReportRecovery(const api::RecoveryStatus& before, const api::RecoveryStatus& next, const Draft::Needs& written,
                    Draft& draft) {
  const bool other_totals = next.restored_shards < before.restored_shards || next.restored_rows < before.restored_rows;
  const api::RecoveryStatus base = other_totals ? api::RecoveryStatus() : before;
  if (next.restored_shards > base.restored_shards || next.restored_rows > base.restored_rows) {
    const std::string rows = Counted(static_cast<int64_t>(next.restored_rows - base.restored_rows), "row") + " in " +
                             Counted(static_cast<int64_t>(next.restored_shards - base.restored_shards), "shard");
    draft.Warn(kEventRowsRestored, "Recover",
               rows + " of a lost server went back to " +
                   (next.checkpoint == 0
                        ? std::string("their first values")
                        : "checkpoint " + std::to_string(next.checkpoint) + " at step " + std::to_string(next.step)) +
                   "; what was pushed to them since then (" + Counted(static_cast<int64_t>(next.steps_lost), "step") +
                   " of all workers) is lost",
               written);
  } else if (next.count > before.count) {
    draft.Normal(kEventRecovered, "Recover",
                 "The rows of a lost server are served by others from their copies; nothing that was acknowledged is "
                 "lost",
                 written);
  }
}

// What the data plane did of itself, reported once because the status remembers it.
void ReportDataPlane(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                     const Draft::Needs& written, Draft& draft) {
  if (before.synchronization && next.synchronization &&
      api::FromManifest(*before.synchronization) != api::FromManifest(*next.synchronization)) {
    draft.Normal(kEventSynchronized, "Synchronize",
                 "Workers keep pace by " + Describe(api::FromManifest(*next.synchronization)) +
                     " now (before: " + Describe(api::FromManifest(*before.synchronization)) + ")",
                 written);
  }
  if (next.relief &&
      (!before.relief || before.relief->term != next.relief->term || before.relief->number != next.relief->number)) {
    draft.Normal(kEventRowsRelocated, "Relieve", next.relief->message, written);
  }
  if (next.checkpoint && !next.checkpoint->directory.empty() &&
      (!before.checkpoint || before.checkpoint->directory != next.checkpoint->directory ||
       before.checkpoint->number != next.checkpoint->number)) {
    const auto& best = next.best_checkpoint;
    const bool is_best =
        best && best->number == next.checkpoint->number && best->directory == next.checkpoint->directory;
    draft.Normal(kEventCheckpointWritten, "Checkpoint",
                 "Wrote " + api::CheckpointName(*next.checkpoint) + " at step " +
                     std::to_string(next.checkpoint->step) + " (" +
                     Counted(static_cast<int64_t>(next.checkpoint->rows), "row") + ", " +
                     api::FormatBytes(next.checkpoint->bytes) + ")" +
                     (is_best ? ", the best so far by " + best->metric + " " + api::FormatFigure(best->value) : ""),
                 written);
  }
  ReportRecovery(before.recovery.value_or(api::RecoveryStatus()), next.recovery.value_or(api::RecoveryStatus()),
                 written, draft);
}

// A finding asks for another machine for a pod, as a user would. What was refused or given up for this pod is not asked
// for again: the tuner asks at every look until the move has begun.
void PassOn(const PodMove& move, const Observed& observed, Now now, Draft& draft) {
  for (const ObservedPod& pod : observed.pods) {
    const bool is_meant = move.role == RoleName::kWorker ? IsWorkerOf(observed, pod) : IsServerOf(observed, pod);
    if (!is_meant || pod.index != move.index || !IsAlive(pod)) continue;
    const auto& last = observed.job.status.move;
    if (last && last->pod == pod.name && last->state != api::kMoved) return;
    RequestMove(observed, pod, move.to, move.reason, now, draft);
    return;
  }
}

// What the tuner must not forget: read before it begins, kept before anything follows from it.
Draft::Needs PlanTuningRecord(const Observed& observed, const PlanOptions& options, Draft& draft) {
  const std::string name = TuningRecordName(observed.job.name);
  if (observed.opens_tuning_record) {
    const auto& known = observed.job.status.tuning;
    draft.Record(OpenTuningRecord{.name = name,
                                  .moved = known ? known->state : "",
                                  .reason = "what was tried and learned so far",
                                  .with_history = options.tuner_history.empty()});
    draft.Requeue(kOwnWriteWait, "the tuner's record");
  }
  if (!observed.tuning || observed.tuning_state == observed.tuning->state) return {};
  return {draft.Record(WriteTuningRecord{name, observed.tuning->state, "the tuner has learned or decided"})};
}

void PlanTuningHistory(const Observed& observed, Draft& draft) {
  if (!observed.finished_tuning) return;
  draft.Create(KeepTuningHistory{*observed.finished_tuning, "similar jobs start from it"});
}

// `kept`: the setting is on record before it is in the spec, so that a new operator knows who asked for it.
// `waits`: its setting is written at a later look, when it still wants it.
void PlanTuning(const Observed& observed, Draft::Needs kept, bool waits, Now now, Draft& draft) {
  if (!observed.tuning) return;
  const TuningOutput& tuning = *observed.tuning;
  for (const TuningOutput::Event& event : tuning.events) {
    if (event.warning) {
      draft.Warn(event.reason.c_str(), "Tune", event.note);
    } else {
      draft.Normal(event.reason.c_str(), "Tune", event.note);
    }
  }
  draft.Requeue(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(tuning.look_again)), "the tuner");
  for (const PodMove& move : tuning.moves) PassOn(move, observed, now, draft);
  if (waits || !tuning.change || IntoBounds(observed) ||
      (observed.policy && !KeepsBounds(*observed.policy, SettingOf(observed.job), *tuning.change)))
    return;
  ChangeSetting(observed, SpecPatch(*tuning.change), "the tuner wants " + ToString(*tuning.change),
                /*if_unchanged=*/true, draft, std::move(kept));
}

// A job outside of what policies allow is brought into it, where one of them says so. Windows begin and end by the wall
// clock, which may jump: it is looked at from time to time.
void PlanBounds(const Observed& observed, Now now, Draft& draft) {
  constexpr Duration kLookAtClock = std::chrono::seconds(60);
  if (!observed.policy) return;
  if (const auto at = observed.policy->changes_at)
    draft.Requeue(std::min(kLookAtClock, std::chrono::duration_cast<Duration>(*at - now.wall)), "a policy's window");
  const auto within = IntoBounds(observed);
  if (!within) return;
  ChangeSetting(observed, SpecPatch(*within), "policies allow no more than " + ToString(*within),
                /*if_unchanged=*/true, draft);
}

std::vector<Step> PlanInvalid(const Observed& observed, const PlanOptions& options, Now now) {
  Draft draft;
  api::TrainingJobStatus next = BuildInvalidStatus(observed, now);
  const Draft::Needs written = PlanStatus(observed, next, options, now, draft);
  ReportTransitions(observed, next, written, draft);
  return std::move(draft).Finish();
}

// It has given its machines back, or does so.
std::vector<Step> PlanWithoutPods(const Observed& observed, const PlanOptions& options, Now now) {
  Draft draft;
  ReleaseAllGoing(observed.pods, observed.job.uid, now.wall, draft);
  ReleasePods(observed, options, now, draft);
  PlanQueue(observed, options, now, draft);
  const api::TrainingJobStatus next = BuildSuspendedStatus(observed, now, draft);
  const Draft::Needs written = PlanStatus(observed, next, options, now, draft);
  ReportSuspension(observed.job.status, next, written, draft);
  return std::move(draft).Finish();
}

// The job is going, its pods with it: nothing is made any more, and finalizers of what goes are removed.
std::vector<Step> PlanDeletion(const Observed& observed, WallTime now) {
  Draft draft;
  EndPods(observed.pods, now, draft);
  PlanTuningHistory(observed, draft);
  return std::move(draft).Finish();
}

std::vector<Step> PlanEnded(const Observed& observed, const PlanOptions& options, Now now) {
  Draft draft;
  ReleaseAllGoing(observed.pods, observed.job.uid, now.wall, draft);
  PlanStatus(observed, BuildEndedStatus(observed, now), options, now, draft);
  PlanTuningHistory(observed, draft);
  PlanQueue(observed, options, now, draft);
  PlanEnding(observed, now, draft);
  return std::move(draft).Finish();
}

// Every row has its copy, and every server is there: one of them may go. By a report that is not old: copies may be
// in progress since.
bool CanLoseServer(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now) {
  const ObservedPod* host = CoordinatorPod(observed);
  if (host == nullptr || IsUnheardFor(observed, *host, options.lost_silence, now)) return false;
  const v1::JobWindow* window = CurrentWindow(observed);
  if (observed.job.spec.backups == 0 || servers.count < 2 || !servers.begun || !servers.survivable) return false;
  if (window == nullptr || window->has_relocation() || !servers.leaving.empty()) return false;
  for (int32_t index = 0; index < servers.count; ++index) {
    const ObservedPod* pod = servers.by_index[static_cast<size_t>(index)];
    if (pod == nullptr || !IsAlive(*pod) || StateOf(*window, index) != v1::ServerState::SERVING) return false;
  }
  return true;
}

void PlanShared(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now,
                Draft& draft) {
  if (!observed.service_exists) {
    draft.CreateForPods(CreateService{BuildService(observed.job), "gives servers their names"});
  }
  const int32_t least = servers.count - (CanLoseServer(observed, servers, options, now) ? 1 : 0);
  if (observed.budget_exists && observed.budget_min_available && *observed.budget_min_available != least) {
    draft.Create(PatchPodDisruptionBudget{BudgetName(observed.job.name), least, "what the job can lose has changed"});
  }
  if (!observed.budget_exists) {
    draft.Create(CreatePodDisruptionBudget{BuildPodDisruptionBudget(observed.job, least),
                                           "drains of nodes may evict as many servers as the job can lose"});
  }
}

MoveFacts FactsOfMoves(const Observed& observed, const ServersView& servers, bool ends) {
  MoveFacts facts{
      .begun = servers.begun, .ends = ends, .elastic = servers.elastic, .servers = servers.wanted, .serving = {}};
  const v1::JobWindow* window = CurrentWindow(observed);
  if (window == nullptr) return facts;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsServerOf(observed, pod) || StateOf(*window, pod.index) != v1::ServerState::SERVING) continue;
    facts.serving.insert(pod.index);
  }
  return facts;
}

// Whether the job is over, and how.
std::optional<Verdict> Judge(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                             const PlanOptions& options, Now now) {
  // Workers first: when the last one has finished, a server's end is no failure any more.
  std::optional<Verdict> verdict = JudgeWorkers(observed, servers, workers);
  if (!verdict || !verdict->success) {
    if (auto fatal = JudgeFailurePolicy(observed, servers, workers)) verdict = std::move(fatal);
  }
  if (!verdict) verdict = JudgeServers(observed, servers, options, now);
  if (!verdict) verdict = JudgeStandstill(observed, servers, options, now);
  if (!verdict) verdict = JudgeDeadline(observed, servers, now);
  if (!verdict || verdict->success) {
    if (auto lost = JudgeRows(observed)) verdict = std::move(lost);
  }
  return verdict;
}

// Events about what the next status says and the present one does not.
void ReportChanges(const Observed& observed, const api::TrainingJobStatus& next, const CoordinatorView& coordinator,
                   const Draft::Needs& written, Draft& draft) {
  const api::TrainingJobStatus& present = observed.job.status;
  ReportTransitions(observed, next, written, draft);
  ReportMove(present.move, next.move, written, draft);
  ReportAvoided(present.machine_losses, next.machine_losses, written, draft);
  ReportSuspension(present, next, written, draft);
  ReportStandstill(present, next, written, draft);
  ReportCoordinator(present, coordinator, written, draft);
  ReportDataPlane(present, next, written, draft);
}

}  // namespace

std::vector<Step> Plan(const Observed& observed, const PlanOptions& options, Now now) {
  if (observed.job.being_deleted) return PlanDeletion(observed, now.wall);
  if (!api::IsManagedHere(observed.job)) return {};
  if (HasEnded(observed.job.status)) return PlanEnded(observed, options, now);
  if (!observed.problems.empty()) return PlanInvalid(observed, options, now);
  if (IsWithoutPods(observed.job.status) || IsBornHeld(observed)) return PlanWithoutPods(observed, options, now);

  Draft draft;
  ReleaseAllGoing(observed.pods, observed.job.uid, now.wall, draft);
  RemoveEarlier(observed, draft);
  ServersView servers = ViewServers(observed, options, now);
  servers.begun = servers.begun || BeginsUnheard(observed, servers, options, now);
  const WorkersView workers = ViewWorkers(observed, servers, options, now);
  const std::optional<Verdict> verdict = Judge(observed, servers, workers, options, now);

  Directives directives(observed, options, now, draft);
  Progression progression{.coordinator = CoordinatorOf(observed.job.status),
                          .standstill = StandstillOf(observed, options, now),
                          .move = observed.job.status.move,
                          .suspension = observed.job.status.suspension};
  const bool ends = verdict || servers.goal_reached || servers.closed;
  progression.suspension = NextSuspension(observed, servers, ends, options, now, directives, draft);
  const bool stays = !ends && !IsSuspending(observed.job.status);
  // Nothing is made before the name of the job's Secret is on record.
  const bool naming = !verdict && NeedsSecretName(observed);
  const MoveFacts moves = FactsOfMoves(observed, servers, /*ends=*/!stays);
  progression.machine_losses = NextLosses(observed, now);
  if (!naming) progression.move = NextMove(observed, moves, options, now, draft);
  PlanQueue(observed, options, now, draft);
  PlanTuningHistory(observed, draft);
  Draft::Needs kept = PlanTuningRecord(observed, options, draft);
  if (!verdict && !naming) {
    PlanSecret(observed, draft);
    PlanShared(observed, servers, options, now, draft);
    PlanJobPolicy(observed, options, now, draft);
    PlanMemoryRaise(observed, now, draft);
    progression.coordinator = PlanCoordinator(observed, servers, options, now, directives, draft);
    progression.servers =
        PlanServerChanges(observed, servers, progression.coordinator, options, now, directives, draft);
    if (servers.formed) progression.requests = PlanRequests(observed, servers, options, now, directives, draft);
    PlanWorkers(observed, servers, workers, options, now, directives, draft);
    progression.resizes = PlanResizes(observed, servers, workers, options, now, draft);
    const bool tidies = TidySettings(observed, draft);
    if (!IsSuspending(observed.job.status)) PlanTuning(observed, std::move(kept), tidies, now, draft);
    if (!tidies) PlanBounds(observed, now, draft);
    // One that has passed ends nothing any more: the job is done and waits for its last processes.
    if (const auto left = UntilDeadline(observed, now); left && *left > Duration::zero())
      draft.Requeue(*left, "the job's deadline");
    FollowPlacement(observed, moves, now, draft);
    FollowResizes(observed, moves, now, draft);
    if (stays && servers.begun) RestartToResize(observed, options, now, draft);
    if (servers.begun) draft.Requeue(LookAgainAt(observed, options, now), "whether steps end");
    if (servers.finished > 0 || servers.goal_reached) {
      draft.Requeue(options.late_workers_grace, "end of the workers that came too late");
      draft.Requeue(options.servers_ended_grace, "end of the workers");
    }
  }

  api::TrainingJobStatus next = BuildStatus(observed, servers, workers, progression, verdict, options, now);
  if (naming) {
    next.secret = observed.fresh_secret;
    draft.Requeue(kOwnWriteWait, "the job's Secret");
  }
  const Draft::Needs written = PlanStatus(observed, next, options, now, draft);
  ReportChanges(observed, next, progression.coordinator, written, draft);
  return std::move(draft).Finish();
}

std::vector<Step> PlanWithoutJob(const std::vector<ObservedPod>& pods, WallTime now) {
  Draft draft;
  ReleaseAllGoing(pods, "", now, draft);
  return std::move(draft).Finish();
}

}  // namespace attune::controller
