#include "operator/controller/plan/verdicts/server_verdicts.h"

#include <algorithm>

#include "operator/controller/members/worker_members.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/plan/standstill.h"

namespace attune::controller {
namespace {

constexpr char kHowToSurvive[] =
    "Delete and create the job again to start over; with spec.servers.backups: 1 or checkpoints a job survives this.";

bool EndedTooEarly(const ObservedPod& pod, const PlanOptions& options, Now now) {
  return EndedLongAgo(pod, options.servers_ended_grace, now);
}

// A worker that has not trained, and with all servers gone never will: it was made, or began, too late.
bool CameTooLate(const Observed& observed, const ObservedPod& pod) {
  if (HasEnded(pod) || IsBeingDeleted(pod)) return true;
  if (!HasStarted(pod)) return true;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  return sample != nullptr && sample->window.has_worker() && sample->window.worker().clock() == 0;
}

// A worker that has ended, or that this process has never seen to finish a step.
bool HasNothingToWrite(const Observed& observed, const ObservedPod& pod) {
  if (CameTooLate(observed, pod)) return true;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  return sample == nullptr || !sample->window.has_worker();
}

bool AllWorkersCameTooLate(const Observed& observed, bool never_seen_is_late) {
  return std::ranges::all_of(observed.pods, [&](const ObservedPod& pod) {
    if (pod.role != RoleName::kWorker || pod.job_uid != observed.job.uid) return true;
    return never_seen_is_late ? HasNothingToWrite(observed, pod) : CameTooLate(observed, pod);
  });
}

// Its process may run, and have joined, before its kubelet has said so.
bool MayHaveStarted(const ObservedPod& pod) {
  return LifeOf(pod) == PodLife::kWaiting && !pod.node.empty() && !IsBeingDeleted(pod);
}

// Its end, or that of its grace period, is not long ago: what has happened at others meanwhile may not be reported yet.
bool IsRecent(const ObservedPod& lost, const PlanOptions& options, Now now) {
  const auto end = lost.container.finished_at ? lost.container.finished_at : lost.deletion_time;
  return !end || now.wall - *end < options.servers_ended_grace;
}

// Another server could run the coordinator in place of `lost`; null: its pod is gone.
bool HasSuccessor(const Observed& observed, const ObservedPod* lost, const PlanOptions& options, Now now) {
  const auto abilities = AbilitiesOf(observed);
  if (abilities && !abilities->coordinator_failover) return false;
  const bool waits = lost != nullptr && IsRecent(*lost, options, now);
  return std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
    return IsServerOf(observed, pod) && &pod != lost && !IsDeclaredLost(observed, pod) &&
           (IsAlive(pod) || (waits && MayHaveStarted(pod)));
  });
}

// Why the job cannot continue without this server; nullopt when it can.
std::optional<std::string> WhyFatal(const Observed& observed, const ServersView& servers, const std::string& name,
                                    const ObservedPod* pod, const PlanOptions& options, Now now) {
  const bool survivable = pod == nullptr ? servers.survivable : servers.IsSurvivable(*pod);
  if (!survivable && servers.goal_reached) {
    return "the goal was reached, but the closing work was not done, and its rows were kept nowhere else: the model is "
           "not saved. " +
           std::string(kHowToSurvive);
  }
  if (!survivable) return "its rows were kept nowhere else, so training cannot continue. " + std::string(kHowToSurvive);
  if (!servers.begun) return std::nullopt;
  if (name == observed.job.status.coordinator && !HasSuccessor(observed, pod, options, now)) {
    return "it ran the job's coordinator, and no other server can take over." + HowToResume(observed);
  }
  return std::nullopt;
}

std::optional<Verdict> JudgeEnd(const Observed& observed, const ServersView& servers, const ObservedPod& pod,
                                const PlanOptions& options, Now now) {
  const bool badly = servers.HasEndedBadly(pod);
  const bool coordinator_tells = servers.elastic && pod.name != observed.job.status.coordinator;
  if (IsBeingDeleted(pod)) return std::nullopt;
  if (!badly && (coordinator_tells || !EndedTooEarly(pod, options, now))) return std::nullopt;
  const std::string end = pod.name + " " + DescribeEnd(observed, pod);
  if (badly && servers.IsSurvivable(pod)) {
    const auto why = WhyFatal(observed, servers, pod.name, &pod, options, now);
    const int32_t limit = observed.job.spec.run_policy.backoff_limit;
    if (!why && servers.failures > limit) {
      return Verdict{false, kReasonBackoffLimit,
                     end + "; servers failed " + Times(servers.failures) + ", and runPolicy.backoffLimit allows " +
                         Counted(limit, "restart") + "." + LogTail(observed, pod)};
    }
    if (!why) return std::nullopt;
    return Verdict{false, kReasonServerFailed, end + ": " + *why + LogTail(observed, pod)};
  }
  const std::string when = servers.goal_reached
                               ? " after the goal was reached, and the closing work was not done: the "
                                 "model is not saved." +
                                     HowToResume(observed)
                               : " before the workers had finished." +
                                     (badly ? " Its rows were kept nowhere else. " + std::string(kHowToSurvive) : "");
  return Verdict{false, kReasonServerFailed, end + when + LogTail(observed, pod)};
}

// Training waits for a server that hangs, and nothing brings its rows back: after the deadline there is nothing left to
// hope for.
std::optional<Verdict> JudgeHung(const Observed& observed, const ServersView& servers, const ObservedPod& pod,
                                 const PlanOptions& options, Now now) {
  if (servers.survivable || !IsAlive(pod) || !IsWaitedForTooLong(observed, pod, options, now)) return std::nullopt;
  return Verdict{false, kReasonServerLost,
                 pod.name + " hangs: the job has waited for it for longer than runPolicy.progressDeadlineSeconds (" +
                     std::to_string(observed.job.spec.run_policy.progress_deadline_seconds) + "), and " +
                     WhyFatal(observed, servers, pod.name, &pod, options, now).value_or("it cannot be replaced.")};
}

// Once the goal is reached a server may have ended because the job is finished, and the word of that is still on its
// way. Its loss counts when the coordinator says, after that end, that the closing work is not done; or when nothing
// has been said for long.
bool MayJudge(const Observed& observed, const ObservedPod* pod, const PlanOptions& options, Now now) {
  const v1::JobWindow* window = HeardFromCoordinator(observed, options, now);
  const bool has_ended = pod != nullptr && HasEnded(*pod) && pod->container.finished_at;
  const auto ended_for = [&](Duration time) { return has_ended && now.wall - *pod->container.finished_at >= time; };
  const bool is_open = window != nullptr && window->has_closing() && !window->closing().done();
  if (is_open) return has_ended ? ended_for(options.word_is_newer) : window->workers() > 0;
  if (has_ended) return ended_for(options.servers_ended_grace);
  const api::Condition* reached = api::FindCondition(observed.job.status, kGoalReached);
  const auto reached_at = reached == nullptr ? std::nullopt : ParseRfc3339(reached->last_transition_time);
  const bool any_alive = std::ranges::any_of(
      observed.pods, [&](const ObservedPod& each) { return IsServerOf(observed, each) && IsAlive(each); });
  return !any_alive && reached_at && now.wall - *reached_at >= options.servers_ended_grace;
}

std::optional<Verdict> JudgeAbsence(const Observed& observed, const ServersView& servers, const std::string& name,
                                    const ObservedPod* pod, int32_t index, const PlanOptions& options, Now now) {
  if (pod == nullptr) {
    const v1::JobWindow* window = CurrentWindow(observed);
    // Of servers that come and go, the coordinator knows who was there.
    const bool may_be_new =
        servers.elastic && name != observed.job.status.coordinator && (window == nullptr || !IsMember(*window, index));
    if (may_be_new) return std::nullopt;
    if (const auto why = WhyFatal(observed, servers, name, nullptr, options, now)) {
      return Verdict{false, kReasonServerLost, name + " is gone: " + *why};
    }
    return std::nullopt;
  }
  if (!IsBeingDeleted(*pod)) return std::nullopt;
  if (const auto why = WhyFatal(observed, servers, name, pod, options, now)) {
    const std::string where = pod->node.empty() ? "" : " (on node " + pod->node + ")";
    return Verdict{false, kReasonServerLost, name + where + " is being deleted from outside: " + *why};
  }
  return std::nullopt;
}

// A worker whose program has put its own termination message in the place of the session's, and ended by itself with an
// error: by what this operator has heard. One without a message has not left in order: it was lost, which the
// coordinator may not say any more, or came when the job had just finished.
bool HasFailedAsReported(const Observed& observed, const ObservedPod& pod) {
  constexpr int kSignalBase = 128;
  if (pod.container.message.empty() || IsBeingDeleted(pod) || WasDisrupted(pod)) return false;
  if (pod.container.exit_code <= 0 || pod.container.exit_code > kSignalBase) return false;
  const telemetry::PodSample* sample = SampleOf(observed, pod);
  return sample != nullptr && sample->window.has_worker() && !IsDeclaredLost(observed, pod);
}

// A worker that took part, and whose program has failed since the goal was reached. Without a data set for the closing
// work only its end says that something was left undone. One that had left in order, by the word that its process has
// left behind, was at work that no other process sees, however it ended and whichever process was away. One that was
// killed before that, or lost by the coordinator, is made up for by another, which the coordinator waits for; one that
// never joined came too late.
const ObservedPod* FailedAtClosingWork(const Observed& observed, const PlanOptions& options, Now now) {
  if (HasDeclaredClosingWork(observed)) return nullptr;
  const std::vector<int32_t> seats = MembersOfWorkers(observed, options, now).wanted;
  const api::Condition* reached = api::FindCondition(observed.job.status, kGoalReached);
  const auto reached_at = reached == nullptr ? std::nullopt : ParseRfc3339(reached->last_transition_time);
  for (const ObservedPod& pod : observed.pods) {
    const bool wanted = std::ranges::binary_search(seats, pod.index) && !pod.drain_deadline;
    if (!IsWorkerOf(observed, pod) || !wanted || !HasFailed(pod)) continue;
    if (IsBeingDeleted(pod) && pod.failure_number) continue;  // counted, and made up for by the one in its place
    const auto& ended_at = pod.container.finished_at;
    if (reached_at && ended_at && *ended_at + options.word_is_newer < *reached_at) continue;  // others had its work
    if (pod.container.left_in_order || HasFailedAsReported(observed, pod)) return &pod;
  }
  return nullptr;
}

Verdict EndOf(const Observed& observed, const PlanOptions& options, Now now, const std::string& success) {
  if (const ObservedPod* failed = FailedAtClosingWork(observed, options, now)) {
    return Verdict{false, kReasonClosingFailed,
                   failed->name + " " + DescribeEnd(observed, *failed) +
                       " after the goal was reached, and the servers have ended: what it did last, such as saving the "
                       "model, is not done." +
                       HowToResume(observed) +
                       " Closing work that has a data set of its own is done again when its worker fails (see "
                       "docs/worker.md)." +
                       LogTail(observed, *failed)};
  }
  return Verdict{true, kReasonTrainingFinished, success};
}

// The closing work is done: the job is over when its workers have ended, or when no server is left that they could
// reach. A server whose coordinator has ended may never learn that: one that began too late, or was paused meanwhile.
// It is not waited for either.
std::optional<Verdict> JudgeFinished(const Observed& observed, const PlanOptions& options, Now now) {
  const api::Condition* reached = api::FindCondition(observed.job.status, kClosingDone);
  WallTime last = reached == nullptr ? now.wall : ParseRfc3339(reached->last_transition_time).value_or(now.wall);
  const ObservedPod* host = CoordinatorPod(observed);
  bool any_runs = false;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsServerOf(observed, pod)) continue;
    if (IsAlive(pod) || (IsBeingDeleted(pod) && LifeOf(pod) == PodLife::kRunning)) {
      if (host != nullptr && !HasEnded(*host)) return std::nullopt;
      any_runs = true;
    }
    if (pod.container.finished_at) last = std::max(last, *pod.container.finished_at);
  }
  const Duration since = now.wall - last;
  if (any_runs && since < options.servers_ended_grace) return std::nullopt;
  if (since < options.servers_ended_grace && !AllWorkersCameTooLate(observed, false) &&
      (since < options.late_workers_grace || !AllWorkersCameTooLate(observed, true))) {
    return std::nullopt;
  }
  return EndOf(
      observed, options, now,
      "the closing work is done and the coordinator has ended; processes that came too late are not waited for");
}

// An operator that has just begun may see a server's end or deletion before it hears the coordinator, or sees that the
// coordinator has ended, too, having finished the job.
bool AwaitsFirstReport(const Observed& observed, const PlanOptions& options, Now now) {
  const ObservedPod* host = CoordinatorPod(observed);
  if (host == nullptr || !IsAlive(*host) || !observed.listening_since || ReportedAt(observed, *host)) return false;
  return now.monotonic - *observed.listening_since < options.servers_ended_grace;
}

}  // namespace

std::optional<Verdict> JudgeRows(const Observed& observed) {
  const auto& job = observed.sample.job;
  const v1::Recovery heard = job ? job->recovery() : v1::Recovery();
  const api::RecoveryStatus recorded = observed.job.status.recovery.value_or(api::RecoveryStatus());
  const uint64_t shards = std::max(recorded.restored_shards, heard.restored_shards());
  const uint64_t checkpoint = std::max(recorded.checkpoint, heard.checkpoint());
  const uint64_t steps = std::max(recorded.steps_lost, heard.steps_lost());
  const bool left_behind = std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
    return IsServerOf(observed, pod) && pod.container.model_lost_rows;
  });
  const bool counted = shards > 0 && steps > 0 && checkpoint == 0;  // steps that were reported
  if (!left_behind && !heard.model_lost() && !counted) return std::nullopt;
  if (shards == 0 || (left_behind && steps == 0)) {  // not counted yet, or while no operator heard it
    return Verdict{false, kReasonServerFailed,
                   "a server was lost, and rows of it went back to a checkpoint or to their first values: they were "
                   "kept nowhere else. The model is not the one that was trained." +
                       HowToResume(observed) + " " + kHowToSurvive};
  }
  const auto lost = std::ranges::find_if(
      observed.pods, [&](const ObservedPod& pod) { return IsServerOf(observed, pod) && HasFailed(pod); });
  const bool none = lost == observed.pods.end();
  const std::string who = none ? "a server was lost" : lost->name + " " + DescribeEnd(observed, *lost);
  const std::string why = observed.job.spec.backups > 0
                              ? "the servers with their copies were lost at the same time, perhaps on one machine"
                              : "they were kept nowhere else";
  if (checkpoint > 0) {
    return Verdict{false, kReasonServerFailed,
                   who + " after the goal was reached, and rows of it (" +
                       Counted(static_cast<int64_t>(shards), "shard") + ") went back to checkpoint " +
                       std::to_string(checkpoint) + ": " + why + ". The model is not the one that reached the goal." +
                       HowToResume(observed)};
  }
  return Verdict{false, kReasonServerFailed,
                 who + ", and rows of it (" + Counted(static_cast<int64_t>(shards), "shard") +
                     ") went back to their first values: " + why + ". The model is not the one that was trained. " +
                     kHowToSurvive};
}

std::optional<Verdict> JudgeServers(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                    Now now) {
  const auto all_ended_for = [&](Duration grace) {
    return std::ranges::all_of(servers.by_index,
                               [&](const auto* pod) { return pod != nullptr && EndedLongAgo(*pod, grace, now); });
  };
  if (servers.count > 0 && servers.finished == servers.count &&
      (all_ended_for(options.servers_ended_grace) || AllWorkersCameTooLate(observed, false) ||
       (all_ended_for(options.late_workers_grace) && AllWorkersCameTooLate(observed, true)))) {
    return EndOf(observed, options, now,
                 "all servers ended after the goal was reached and the closing work was done; workers that came too "
                 "late are not waited for");
  }
  if (servers.closed) return JudgeFinished(observed, options, now);
  if (servers.begun && AwaitsFirstReport(observed, options, now)) return std::nullopt;
  for (size_t i = 0; i < servers.by_index.size(); ++i) {
    const ObservedPod* pod = servers.by_index[i];
    const std::string name = PodName(observed.job.name, RoleName::kServer, static_cast<int32_t>(i));
    auto verdict = pod == nullptr ? std::nullopt : JudgeEnd(observed, servers, *pod, options, now);
    if (pod != nullptr && !verdict) verdict = JudgeHung(observed, servers, *pod, options, now);
    const bool leaves = std::ranges::any_of(servers.leaving, [&](const auto* each) { return each->name == name; });
    if (!verdict && servers.formed && !leaves)
      verdict = JudgeAbsence(observed, servers, name, pod, static_cast<int32_t>(i), options, now);
    if (verdict && (!servers.goal_reached || MayJudge(observed, pod, options, now))) return verdict;
  }
  for (const ObservedPod* pod : servers.leaving) {
    if (HasFailed(*pod) && !IsBeingDeleted(*pod) && !servers.survivable) {
      return Verdict{false, kReasonServerFailed,
                     pod->name + " " + DescribeEnd(observed, *pod) + " before its rows had been moved away. " +
                         kHowToSurvive + LogTail(observed, *pod)};
    }
  }
  return std::nullopt;
}

}  // namespace attune::controller
