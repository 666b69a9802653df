#include "operator/controller/plan/workers.h"

#include <algorithm>
#include <cmath>

#include "operator/controller/members/move.h"
#include "operator/controller/objects/placement_preference.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/failure.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

constexpr int64_t kGraceAfterDeadlineSeconds = 5;  // a worker that let its deadline pass had its time

std::string InSeconds(Duration delay) { return std::to_string(static_cast<int64_t>(std::ceil(Seconds(delay)))) + " s"; }

class WorkerPlanner {
 public:
  WorkerPlanner(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                const PlanOptions& options, Now now, Directives& directives, Draft& draft)
      : observed_(observed),
        servers_(servers),
        workers_(workers),
        options_(options),
        now_(now),
        directives_(directives),
        draft_(draft) {}

  void Run() {
    for (const ObservedPod* pod : workers_.leaving) PlanLeaving(*pod);
    if (!newly_draining_.empty()) {
      const auto count = static_cast<int32_t>(newly_draining_.size());
      draft_.Normal(kEventWorkersDraining, "ScaleWorkers",
                    "Asked " + std::to_string(count) + " of " + std::to_string(workers_.desired + count) +
                        " workers to leave, " + WhoLeaves() + ", within " +
                        std::to_string(observed_.job.spec.run_policy.drain_seconds) + " s",
                    newly_draining_);
    }
    int32_t next_number = workers_.marked_failures + 1;
    for (size_t seat = 0; seat < workers_.by_index.size(); ++seat) {
      const ObservedPod* pod = workers_.by_index[seat];
      if (pod == nullptr) {
        Create(workers_.indices[seat]);
      } else if (IsBeingDeleted(*pod)) {
        PlanDeletedFromOutside(*pod);
      } else if (workers_.HasEndedBadly(*pod)) {
        PlanFailed(*pod, next_number);
      } else if (!HasSucceeded(*pod)) {
        PlanSilent(*pod);
      } else if (!servers_.closed) {
        draft_.Requeue(kLookAgain, "the coordinator's word on the end of " + pod->name);
      }
    }
    if (workers_.stand_in_index) PlanStandIn();
    if (!created_.empty()) {
      draft_.Normal(kEventWorkersCreated, "CreateWorkers",
                    "Created " + Counted(static_cast<int64_t>(created_.size()), "worker pod") + " (" +
                        std::to_string(workers_.desired) + " wanted)",
                    created_);
    }
  }

 private:
  // "highest index first", unless others stay for a reason.
  std::string WhoLeaves() const {
    const int32_t highest = workers_.indices.empty() ? -1 : workers_.indices.back();
    std::string names;
    bool by_index = true;
    for (const ObservedPod* pod : workers_.leaving) {
      if (IsBeingDeleted(*pod) || pod->drain_deadline || LifeOf(*pod) != PodLife::kRunning) continue;
      names += (names.empty() ? "" : ", ") + pod->name;
      by_index = by_index && pod->index > highest;
    }
    return by_index ? "highest index first" : FitText(names, 256);
  }

  // One more, which takes the place of the one that moves. It is no worker of the job yet: whatever becomes of it ends
  // the move (members/move_planner.h) and counts as no failure.
  void PlanStandIn() {
    const api::MoveStatus* move = CurrentMove(observed_);
    if (move == nullptr) return;
    if (workers_.stand_in != nullptr) {
      if (IsBeingDeleted(*workers_.stand_in)) PlanGoing(*workers_.stand_in);
      return;
    }
    if (!MayCreate(*workers_.stand_in_index)) return;
    kube::Json pod = BuildPod(observed_, RoleName::kWorker, *workers_.stand_in_index, servers_.count, options_);
    AddPreference(pod, {.to = move->to, .away_from = move->from});
    pod["metadata"]["annotations"][kAnnotationStandsInFor] = move->pod_uid;
    draft_.Create(CreatePod{.pod = std::move(pod), .reason = "it takes the place of " + move->pod});
  }

  void Create(int32_t index) {
    if (!MayCreate(index)) return;
    created_.push_back(
        draft_.Create(CreatePod{.pod = BuildPod(observed_, RoleName::kWorker, index, servers_.count, options_),
                                .reason = std::to_string(workers_.desired) + " workers are wanted"}));
  }

  bool MayCreate(int32_t index) {
    // On record before anybody can train: a job that is not on record as begun has nothing to lose.
    if (!observed_.job.status.begun) return false;
    if (!servers_.formed || servers_.finished > 0 || servers_.closed) return false;  // no process to connect to
    // Training is over. While others are at the closing work it needs no more workers.
    const v1::JobWindow* window = directives_.window();
    if (servers_.goal_reached && window != nullptr && window->workers() > 0) {
      draft_.Requeue(kLookAgain, "the closing work");
      return false;
    }
    // A name that is in use: still leaving, or of an earlier job of this name; its end wakes us.
    return !NameInUse(observed_, PodName(observed_.job.name, RoleName::kWorker, index));
  }

  void PlanFailed(const ObservedPod& pod, int32_t& next_number) {
    ReportGone(pod);
    if (servers_.closed) return;  // it stays as it is: its end is part of the verdict
    const FailureMeaning meaning = MeaningOf(observed_, pod);
    if (!pod.failure_number && meaning.action == api::FailureAction::kIgnore) {
      return WasDisrupted(pod) ? PlanDisrupted(pod) : PlanIgnored(pod, meaning);
    }
    if (!pod.failure_number) {
      const int32_t number = next_number++;
      const int32_t in_a_row = FailuresInARow(observed_, pod);
      const Draft::Ref mark = draft_.Mark(
          pod,
          {{kAnnotationFailureNumber, std::to_string(number)}, {kAnnotationFailuresInARow, std::to_string(in_a_row)}},
          "failure " + std::to_string(number) + " of the job");
      const int32_t limit = observed_.job.spec.run_policy.backoff_limit;
      const std::string next = number > limit
                                   ? "no restart is left (backoffLimit " + std::to_string(limit) + ")"
                                   : "restart " + std::to_string(number) + " of at most " + std::to_string(limit) +
                                         " follows in " + InSeconds(RestartDelay(options_, in_a_row));
      draft_.Warn(kEventWorkerFailed, "RestartWorker",
                  pod.name + " " + DescribeWorkerEnd(observed_, servers_, workers_, pod) + "; " + next + "." +
                      LogTail(observed_, pod),
                  {mark});
      draft_.Requeue(RestartDelay(options_, in_a_row), "restart of " + pod.name);
      return;
    }
    // Counted by this plan's status; removed when that is written.
    if (observed_.job.status.workers.failed < *pod.failure_number) return;
    if (IsPartOfTheVerdict(pod)) return draft_.Requeue(kLookAgain, "what the end of " + pod.name + " leaves undone");
    const Duration delay = RestartDelay(options_, pod.failures_in_a_row);
    const Duration waited = pod.container.finished_at ? now_.wall - *pod.container.finished_at : delay;
    if (waited >= delay) {
      draft_.Remove(pod, 0, "its failure is recorded; a new worker follows");
    } else {
      // Another clock than ours may have written the end: wait the delay at most.
      draft_.Requeue(std::min(delay, delay - waited), "restart of " + pod.name);
    }
  }

  // One that has failed at closing work without a data set, or may have: when the others leave the job is finished, and
  // this pod is all that says what is missing. Nothing is lost by keeping it while they are at their work: no other
  // takes its place meanwhile. A coordinator that is not heard for long continues, or the servers would have ended.
  bool IsPartOfTheVerdict(const ObservedPod& pod) const {
    if (!HasFailed(pod)) return false;
    const v1::JobWindow* window = directives_.window();
    const ObservedPod* host = CoordinatorPod(observed_);
    if (window == nullptr || host == nullptr || !IsAlive(*host) || !IsHeard(observed_, *host, options_, now_)) {
      return pod.container.left_in_order && !HasEndedFor(pod, options_.servers_ended_grace, now_);
    }
    if (pod.container.left_in_order && !HasEndedFor(pod, options_.word_is_newer, now_)) return true;
    return MayFinishWithout() && window->workers() > 0;
  }

  bool MayFinishWithout() const { return servers_.goal_reached && !HasDeclaredClosingWork(observed_); }

  // A failure that the job's policy does not count. What ends again and again is waited for as if it counted.
  void PlanIgnored(const ObservedPod& pod, const FailureMeaning& meaning) {
    const Duration delay = RestartDelay(options_, FailuresInARow(observed_, pod));
    draft_.Warn(kEventWorkerReplaced, "ReplaceWorker",
                pod.name + " " + DescribeWorkerEnd(observed_, servers_, workers_, pod) + "; " + meaning.rule_text() +
                    " ignores it: a new worker follows in " + InSeconds(delay) + ", and no failure is counted." +
                    LogTail(observed_, pod),
                {MarkUncounted(observed_, pod, draft_)});
    draft_.Requeue(delay, "restart of " + pod.name);
  }

  // Not a failure of the program: a new worker follows at once.
  void PlanDisrupted(const ObservedPod& pod) {
    draft_.Warn(kEventWorkerReplaced, "ReplaceWorker",
                pod.name + " " + DescribeEnd(observed_, pod) + "; a new worker follows, and no failure is counted",
                draft_.Remove(pod, 0, "it was ended from outside; a new worker follows"));
  }

  // Its pod says that it runs, or is about to.
  void PlanSilent(const ObservedPod& pod) {
    const Signs signs = SignsOf(observed_, pod, options_, now_);
    if (signs.machine_is_gone()) {
      draft_.Warn(kEventNodeLost, "ReplaceWorker",
                  pod.name + ": " + Describe(signs, pod) +
                      ". Removed it without confirmation, so that another worker can take its place",
                  draft_.Remove(pod, 0, "its machine is lost"));
    } else if (signs.is_hung()) {
      draft_.Warn(kEventProcessHung, "ReplaceWorker",
                  pod.name + ": " + Describe(signs, pod) + ", while its container runs. A new worker follows",
                  draft_.Remove(pod, kGraceOfHungSeconds, "its process hangs"));
    } else if (signs.any()) {
      draft_.Requeue(kLookAgain, "word of " + pod.name);
    }
  }

  // So that no caller waits for its lease to run out, least of all workers that keep pace with it.
  void ReportGone(const ObservedPod& pod) {
    const v1::JobWindow* window = directives_.window();
    if (window == nullptr || !window->has_abilities() || !HasStarted(pod) || !IsProvenEnded(pod)) return;
    v1::Directive directive;
    directive.mutable_node_gone()->set_role(ToString(pod.role));
    directive.mutable_node_gone()->set_index(static_cast<uint32_t>(pod.index));
    directive.mutable_node_gone()->set_pod_uid(pod.uid);
    directives_.AskCoordinator("gone=" + pod.uid, directive, pod.name + " has ended");
  }

  void PlanDeletedFromOutside(const ObservedPod& pod) {
    const bool will_end =
        LifeOf(pod) == PodLife::kRunning && !SignsOf(observed_, pod, options_, now_).machine_is_gone();
    if (pod.held && (IsPartOfTheVerdict(pod) || (MayFinishWithout() && will_end))) {
      return draft_.Requeue(kLookAgain, "what the end of " + pod.name + " leaves undone");
    }
    const Draft::Needs released = PlanGoing(pod);
    if (!pod.held) return;
    draft_.Warn(kEventWorkerReplaced, "ReplaceWorker",
                pod.name + (pod.node.empty() ? "" : " on node " + pod.node) +
                    " is being deleted from outside; a new worker follows",
                released);
  }

  // Being deleted: remove its finalizer, and see to it that its name gets free even when its machine is not heard from.
  Draft::Needs PlanGoing(const ObservedPod& pod) {
    Draft::Needs released = draft_.Release(pod, "nothing more to record of it");
    const Signs signs = SignsOf(observed_, pod, options_, now_);
    if (!signs.machine_is_gone()) {
      const WallTime overdue_at = *pod.deletion_time + options_.lost_node_grace;
      draft_.Requeue(signs.overdue ? kLookAgain : std::clamp<Duration>(overdue_at - now_.wall, kLookAgain, kLookLater),
                     "deletion of " + pod.name);
      return released;
    }
    const Draft::Needs deleted = draft_.ForceDelete(pod, "its machine is lost");
    draft_.Warn(kEventNodeLost, "ForceDeleteWorker",
                pod.name + " is being deleted, but " + Describe(signs, pod) +
                    ". Removed it without confirmation, so that another worker can take its place",
                deleted);
    return released;
  }

  void PlanLeaving(const ObservedPod& pod) {
    if (IsBeingDeleted(pod)) {
      PlanGoing(pod);
    } else if (LifeOf(pod) != PodLife::kRunning) {
      RemoveLeaver(pod);
    } else if (!pod.drain_deadline) {
      const auto drain = std::chrono::seconds(observed_.job.spec.run_policy.drain_seconds);
      const Draft::Ref mark = draft_.Mark(pod, {{contract::kAnnotationDrainDeadline, ToRfc3339(now_.wall + drain)}},
                                          "beyond the wanted number of workers");
      newly_draining_.push_back(mark);
      // Without the mark, its end would be a result.
      if (IsConnected(observed_, pod)) draft_.Drain(pod, "scaled down", {mark});
      draft_.Requeue(std::min<Duration>(drain, options_.drain_connect_grace), "drain of " + pod.name);
    } else {
      PlanDraining(pod);
    }
  }

  void PlanDraining(const ObservedPod& pod) {
    const Duration left = *pod.drain_deadline - now_.wall;
    const Duration asked_for = std::chrono::seconds(observed_.job.spec.run_policy.drain_seconds) - left;
    if (left <= Duration::zero()) {
      draft_.Warn(
          kEventDrainDeadline, "DeleteWorker",
          pod.name + " did not leave by its deadline; deleting it. What it had not finished goes to other workers",
          draft_.Remove(pod, kGraceAfterDeadlineSeconds, "its drain deadline has passed"));
    } else if (observed_.drain_sent.contains(pod.uid)) {
      draft_.Requeue(left, "drain deadline of " + pod.name);
    } else if (IsConnected(observed_, pod)) {
      draft_.Drain(pod, "scaled down");
      draft_.Requeue(left, "drain deadline of " + pod.name);
    } else if (asked_for < options_.drain_connect_grace) {
      draft_.Requeue(options_.drain_connect_grace - asked_for, "sidecar of " + pod.name);
    } else {
      const auto grace =
          std::max<int64_t>(kGraceAfterDeadlineSeconds, std::chrono::ceil<std::chrono::seconds>(left).count());
      draft_.Remove(pod, grace, "no sidecar to ask; SIGTERM asks the worker itself");
    }
  }

  void RemoveLeaver(const ObservedPod& pod) {
    const std::string how = HasStarted(pod) ? DescribeEnd(observed_, pod) : "had not started";
    const Draft::Needs removed =
        draft_.Remove(pod, HasStarted(pod) ? std::optional<int64_t>(0) : std::nullopt, "it left the job");
    if (HasFailed(pod)) {
      draft_.Warn(kEventWorkerLeft, "DeleteWorker", pod.name + " " + how + " while leaving." + LogTail(observed_, pod),
                  removed);
    } else {
      draft_.Normal(kEventWorkerLeft, "DeleteWorker", pod.name + " left the job (" + how + ")", removed);
    }
  }

  const Observed& observed_;
  const ServersView& servers_;
  const WorkersView& workers_;
  const PlanOptions& options_;
  const Now now_;
  Directives& directives_;
  Draft& draft_;
  Draft::Needs created_, newly_draining_;
};

}  // namespace

void PlanWorkers(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                 const PlanOptions& options, Now now, Directives& directives, Draft& draft) {
  WorkerPlanner(observed, servers, workers, options, now, directives, draft).Run();
}

}  // namespace attune::controller
