#include "operator/controller/plan/server_changes.h"

#include <algorithm>

#include "operator/controller/members/move.h"
#include "operator/controller/objects/placement_preference.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/plan/server_moves.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

class ServerPlanner {
 public:
  ServerPlanner(const Observed& observed, const ServersView& servers, const CoordinatorView& coordinator,
                const PlanOptions& options, Now now, Directives& directives, Draft& draft)
      : observed_(observed),
        servers_(servers),
        coordinator_(coordinator),
        options_(options),
        now_(now),
        directives_(directives),
        draft_(draft),
        window_(directives.window()) {}

  ServerChanges Run() {
    for (const ObservedPod* pod : servers_.leaving) PlanLeaving(*pod);
    for (int32_t index = 0; index < servers_.count; ++index) {
      const ObservedPod* pod = servers_.by_index[static_cast<size_t>(index)];
      if (pod == nullptr) {
        PlanMissing(index);
      } else if (IsBeingDeleted(*pod)) {
        ++changes_.replaced;
        PlanDeletedFromOutside(*pod);
      } else if (servers_.HasEndedBadly(*pod)) {
        ++changes_.replaced;
        PlanFailed(*pod);
      } else if (!HasSucceeded(*pod)) {
        PlanSilent(*pod);
      } else if (servers_.elastic && !servers_.closed) {
        draft_.Requeue(kLookAgain, "the coordinator's word on the end of " + pod->name);
      }
    }
    ReportNumber();
    const bool may_move = servers_.elastic && servers_.begun && window_ != nullptr && !ended_by_itself() &&
                          !coordinator_.moving && changes_.replaced == 0 && changes_.leaving == 0;
    if (may_move && BeginServerMove(observed_, servers_, *window_, now_, draft_)) ++changes_.leaving;
    ReportEvents();
    return changes_;
  }

 private:
  // The closing work is done; nothing is made any more.
  bool ended_by_itself() const { return servers_.finished > 0 || servers_.closed; }

  // Without a coordinator that leads it is unknown which servers the job needs: a new one would look like a lost one,
  // and one whose machine does not answer may have the only rows, or the only vote that lets a coordinator begin.
  bool NoneLeads() const {
    return !ended_by_itself() && ((window_ == nullptr && servers_.begun) || coordinator_.moving);
  }

  void PlanMissing(int32_t index) {
    if (ended_by_itself() || !(servers_.elastic || servers_.survivable)) return;
    const std::string name = PodName(observed_.job.name, RoleName::kServer, index);
    if (NameInUse(observed_, name)) return;  // its end wakes us
    if (NoneLeads()) return draft_.Requeue(kLookAgain, "a coordinator that leads");
    kube::Json pod = BuildPod(observed_, RoleName::kServer, index, servers_.count, options_);
    const api::MoveStatus* move = CurrentMove(observed_);
    const bool is_one_more = index >= servers_.wanted;
    if (move != nullptr && move->pod == name) AddPreference(pod, {.to = move->to, .away_from = move->from});
    if (move != nullptr && is_one_more) {
      pod["metadata"]["annotations"][kAnnotationStandsInFor] = move->pod_uid;
      // Not to the machine that the other one is to have room on.
      AddPreference(pod, {.to = "", .away_from = move->from});
    }
    created_.push_back(
        draft_.Create(CreatePod{.pod = std::move(pod),
                                .reason = is_one_more ? "the only server moves, and needs another one"
                                                      : "the job has " + Counted(servers_.count, "server"),
                                .if_job_unchanged = !servers_.begun}));
  }

  // Reports to the coordinator that this pod's process has ended for good; true when it need not be waited for. Without
  // proof of that it gets no word, and waits for the process' lease to run out.
  bool ReportGone(const ObservedPod& pod, Duration since) {
    if (!servers_.formed) return true;  // its successor takes its place when it joins
    if (IsProofForTheNext(pod)) return false;
    if (pod.name == coordinator_.pod || !HasStarted(pod) || !IsProvenEnded(pod)) return true;
    v1::Directive directive;
    directive.mutable_node_gone()->set_role(ToString(pod.role));
    directive.mutable_node_gone()->set_index(static_cast<uint32_t>(pod.index));
    directive.mutable_node_gone()->set_pod_uid(pod.uid);
    const Reply reply = directives_.AskCoordinator("gone=" + pod.uid, directive, pod.name + " has ended");
    if (reply.state == Reply::State::kDone || reply.state == Reply::State::kRefused) return true;
    if (since >= options_.gone_timeout) return true;
    draft_.Requeue(std::min<Duration>(kLookAgain, options_.gone_timeout - since), "the coordinator's answer");
    return false;
  }

  // Of a server that may have had the only vote nothing but its pod proves to the next coordinator that it has ended:
  // without it none could ever begin. Before one leads no other server can take its place.
  bool IsProofForTheNext(const ObservedPod& pod) {
    if (!HasStarted(pod) || !NoneLeads()) return false;
    draft_.Requeue(kLookAgain, "a coordinator that leads");
    return true;
  }

  void PlanFailed(const ObservedPod& pod) {
    if (ended_by_itself()) return;
    const Duration delay = RestartDelay(options_, std::max(pod.failures_in_a_row, 1));
    const Duration waited =
        pod.container.finished_at ? now_.wall - *pod.container.finished_at : std::max(delay, options_.gone_timeout);
    const bool reported = ReportGone(pod, waited);
    const FailureMeaning meaning = MeaningOf(observed_, pod);
    if (!pod.failure_number && meaning.action == api::FailureAction::kIgnore) {
      if (!WasDisrupted(pod)) return IgnoreFailure(pod, meaning);
      if (reported) ReplaceDisrupted(pod);
      return;
    }
    if (!pod.failure_number) return CountFailure(pod);
    if (observed_.job.status.servers.failed < *pod.failure_number) return;  // counted by this plan's status
    if (waited < delay) {
      draft_.Requeue(std::min(delay, delay - waited), "replacement of " + pod.name);
    } else if (reported) {
      draft_.Remove(pod, 0, "its failure is recorded; a new server follows");
    }
  }

  void CountFailure(const ObservedPod& pod) {
    const int32_t number = ++numbered_ + HighestNumber();
    const int32_t in_a_row = FailuresInARow(observed_, pod);
    const Draft::Ref mark = draft_.Mark(
        pod,
        {{kAnnotationFailureNumber, std::to_string(number)}, {kAnnotationFailuresInARow, std::to_string(in_a_row)}},
        "server failure " + std::to_string(number) + " of the job");
    draft_.Warn(kEventServerFailed, "ReplaceServer",
                pod.name + " " + DescribeEnd(observed_, pod) + "; " + WhereRowsAre(pod) +
                    ", and a new server follows (" + std::to_string(number) + " of at most " +
                    std::to_string(observed_.job.spec.run_policy.backoff_limit) + ")." + LogTail(observed_, pod),
                {mark});
    draft_.Requeue(RestartDelay(options_, in_a_row), "replacement of " + pod.name);
  }

  std::string WhereRowsAre(const ObservedPod& pod) const {
    const auto& checkpoint = observed_.job.status.checkpoint;
    if (!servers_.begun) return "nothing has been trained yet";
    if (std::ranges::find(servers_.without_rows, &pod) != servers_.without_rows.end()) return "it had no rows yet";
    if (observed_.job.spec.backups > 0) return "its rows come back from their backups";
    if (checkpoint && !checkpoint->directory.empty()) return "its rows come back from the last checkpoint";
    return "its rows were kept nowhere else";
  }

  // The job's policy does not count it. What ends again and again is waited for as if it counted.
  void IgnoreFailure(const ObservedPod& pod, const FailureMeaning& meaning) {
    draft_.Warn(kEventServerReplaced, "ReplaceServer",
                pod.name + " " + DescribeEnd(observed_, pod) + "; " + WhereRowsAre(pod) +
                    ", and a new server follows: " + meaning.rule_text() + " ignores it." + LogTail(observed_, pod),
                {MarkUncounted(observed_, pod, draft_)});
    draft_.Requeue(RestartDelay(options_, FailuresInARow(observed_, pod)), "replacement of " + pod.name);
  }

  // Not a failure of the program.
  void ReplaceDisrupted(const ObservedPod& pod) {
    draft_.Warn(kEventServerReplaced, "ReplaceServer",
                pod.name + " " + DescribeEnd(observed_, pod) + "; a new server follows, and no failure is counted",
                draft_.Remove(pod, 0, "it was ended from outside; a new server follows"));
  }

  // By the coordinator; the one that runs in this server moves first.
  void Empty(const ObservedPod& pod) {
    if (pod.name == coordinator_.pod || coordinator_.moving) return draft_.Requeue(kLookAgain, "another coordinator");
    v1::Directive directive;
    directive.mutable_drain_server()->set_index(static_cast<uint32_t>(pod.index));
    const Reply reply = directives_.AskCoordinator("drain=" + pod.uid, directive, WhyItMoves(observed_, pod));
    if (reply.state == Reply::State::kRefused) changes_.refused = reply.message;
  }

  // Its pod says that it runs, or is about to. The coordinator's own is replaced once another one is leading
  // (coordinator.h), and without anything that brings its rows back a server is waited for.
  void PlanSilent(const ObservedPod& pod) {
    if (!servers_.survivable || ended_by_itself() || pod.name == coordinator_.pod) return;
    const Signs signs = SignsOf(observed_, pod, options_, now_);
    if ((signs.machine_is_gone() || signs.is_hung()) && NoneLeads()) {
      draft_.Requeue(kLookAgain, "a coordinator that leads");
    } else if (signs.machine_is_gone()) {
      ++changes_.replaced;
      draft_.Warn(kEventNodeLost, "ReplaceServer",
                  pod.name + ": " + Describe(signs, pod) +
                      ". Removed it without confirmation, so that another server can take its place",
                  draft_.Remove(pod, 0, "its machine is lost"));
    } else if (signs.is_hung()) {
      ++changes_.replaced;
      draft_.Warn(kEventProcessHung, "ReplaceServer",
                  pod.name + ": " + Describe(signs, pod) + ", while its container runs. A new server follows",
                  draft_.Remove(pod, kGraceOfHungSeconds, "its process hangs"));
    } else if (signs.any()) {
      draft_.Requeue(kLookAgain, "word of " + pod.name);
    }
  }

  int32_t HighestNumber() const {
    int32_t highest = observed_.job.status.servers.failed;
    for (const ObservedPod& pod : observed_.pods) {
      if (pod.role == RoleName::kServer && pod.job_uid == observed_.job.uid) {
        highest = std::max(highest, pod.failure_number.value_or(0));
      }
    }
    return highest;
  }

  // Kept until its process has ended, so that the end is known; not for ever, when its machine is not heard from.
  void PlanDeletedFromOutside(const ObservedPod& pod) {
    // Of a job that has not formed nothing is to be recorded.
    const bool ended = LifeOf(pod) != PodLife::kRunning || !servers_.formed;
    if (!ended) return PlanOverdue(pod);
    const Duration since = pod.container.finished_at ? now_.wall - *pod.container.finished_at : options_.gone_timeout;
    if (!ReportGone(pod, since)) return;
    const Draft::Needs released = PlanGoing(pod);
    if (!pod.held) return;
    draft_.Warn(
        kEventServerReplaced, "ReplaceServer",
        pod.name + (pod.node.empty() ? "" : " on node " + pod.node) + " was deleted from outside; a new server follows",
        released);
  }

  void PlanOverdue(const ObservedPod& pod) {
    const Signs signs = SignsOf(observed_, pod, options_, now_);
    if (!signs.machine_is_gone() || NoneLeads()) return LookAtDeletion(pod, signs);
    PlanGoing(pod);
  }

  void LookAtDeletion(const ObservedPod& pod, const Signs& signs) {
    const WallTime overdue_at = *pod.deletion_time + options_.lost_node_grace;
    draft_.Requeue(signs.overdue ? kLookAgain : std::clamp<Duration>(overdue_at - now_.wall, kLookAgain, kLookLater),
                   "deletion of " + pod.name);
  }

  // Nothing more to record: remove its finalizer, and see to it that its name gets free.
  Draft::Needs PlanGoing(const ObservedPod& pod) {
    Draft::Needs released = draft_.Release(pod, "nothing more to record of it");
    const Signs signs = SignsOf(observed_, pod, options_, now_);
    if (!signs.machine_is_gone()) {
      LookAtDeletion(pod, signs);
      return released;
    }
    const Draft::Needs deleted = draft_.ForceDelete(pod, "its machine is lost");
    draft_.Warn(kEventNodeLost, "ForceDeleteServer",
                pod.name + " is being deleted, but " + Describe(signs, pod) +
                    ". Removed it without confirmation, so that another server can take its place",
                deleted);
    return released;
  }

  // One that has a node may have started and joined before its kubelet says so, and have rows already: it is asked to
  // leave like one that runs.
  void PlanLeaving(const ObservedPod& pod) {
    ++changes_.leaving;
    if (IsBeingDeleted(pod)) {
      if (!IsProofForTheNext(pod)) PlanGoing(pod);
    } else if (!HasStarted(pod) && pod.node.empty()) {
      Leave(pod, "had not started", std::nullopt);
    } else if (HasSucceeded(pod)) {
      PlanReleased(pod);
    } else if (HasFailed(pod)) {
      if (!ReportGone(pod, pod.container.finished_at ? now_.wall - *pod.container.finished_at : options_.gone_timeout))
        return;
      draft_.Warn(kEventServerLeft, "DeleteServer",
                  pod.name + " " + DescribeEnd(observed_, pod) + " while leaving." + LogTail(observed_, pod),
                  draft_.Remove(pod, 0, "it left the job"));
    } else if (!pod.draining_since) {
      newly_draining_.push_back(
          draft_.Mark(pod, {{kAnnotationDraining, ToRfc3339(now_.wall)}}, "beyond the wanted number of servers"));
    } else {
      PlanDraining(pod);
    }
  }

  // While the coordinator's last word still names it a member, its absence would look like a loss.
  void PlanReleased(const ObservedPod& pod) {
    const ObservedPod* host = CoordinatorPod(observed_);
    const bool is_named = window_ != nullptr && IsMember(*window_, pod.index) && !servers_.closed;
    const bool is_heard = host != nullptr && IsHeard(observed_, *host, options_, now_);
    const Duration since = pod.container.finished_at ? now_.wall - *pod.container.finished_at : options_.gone_timeout;
    if (is_named && (!is_heard || since < options_.gone_timeout)) {
      return draft_.Requeue(kLookAgain, "the coordinator's word that it has released " + pod.name);
    }
    Leave(pod, "its rows have moved to the others", 0);
  }

  void PlanDraining(const ObservedPod& pod) {
    if (window_ == nullptr) return;
    const auto state = StateOf(*window_, pod.index);
    if (state == v1::ServerState::DRAINED) return Leave(pod, "its rows have moved to the others", std::nullopt);
    if (state && pod.index < servers_.count) {
      return MovesElsewhere(observed_, pod) ? Empty(pod) : PlanWantedAgain(pod, *state);
    }
    if (state) return;  // its coordinator's next word wakes us
    // It has not joined, or has left and is about to end; unless the coordinator was heard last before it joined.
    const Duration since = now_.wall - *pod.draining_since;
    if (HeardFromCoordinator(observed_, options_, now_) == nullptr) {
      return draft_.Requeue(kLookAgain, "the coordinator's report of its members");
    }
    if (since >= options_.gone_timeout) return Leave(pod, "was no member", std::nullopt);
    draft_.Requeue(options_.gone_timeout - since, "end of " + pod.name);
  }

  // It stays when the coordinator has taken it up again; until that is sure it may still end as one that has left.
  void PlanWantedAgain(const ObservedPod& pod, v1::ServerState::State state) {
    constexpr Duration kReportsAreNewer = std::chrono::seconds(5);  // than what was asked of the coordinator
    const Duration since = now_.wall - *pod.draining_since;
    if (since < kReportsAreNewer) {
      draft_.Requeue(kReportsAreNewer - since, "whether " + pod.name + " stays");
    } else if (state == v1::ServerState::SERVING || state == v1::ServerState::JOINING) {
      draft_.Mark(pod, {{kAnnotationDraining, nullptr}}, "wanted again");
    }
  }

  void Leave(const ObservedPod& pod, const std::string& how, std::optional<int64_t> grace_seconds) {
    draft_.Normal(kEventServerLeft, "DeleteServer", pod.name + " left the job (" + how + ")",
                  draft_.Remove(pod, grace_seconds, "it left the job"));
  }

  // The coordinator moves rows to who joins and away from who leaves.
  void ReportNumber() {
    if (!servers_.elastic || !servers_.begun || window_ == nullptr || coordinator_.moving || ended_by_itself()) return;
    const ObservedPod* host = CoordinatorPod(observed_);
    if (host != nullptr && host->index >= servers_.count) return;  // it would empty the server it runs in
    // The order says which indexes stay, and would call back who is being moved.
    const bool moves = std::ranges::any_of(servers_.leaving, [&](const ObservedPod* pod) {
      return pod->index < servers_.count && MovesElsewhere(observed_, *pod);
    });
    if (moves) return;
    for (int32_t index = 0; index < servers_.count; ++index) {
      if (StateOf(*window_, index) != v1::ServerState::SERVING) ++changes_.joining;
    }
    changes_.joining = std::max(0, changes_.joining - changes_.replaced);
    const bool settled =
        changes_.joining == 0 && changes_.leaving == 0 && static_cast<int32_t>(MemberCount(*window_)) <= servers_.count;
    if (settled || changes_.replaced > 0) return;
    v1::Directive directive;
    directive.mutable_set_servers()->set_servers(static_cast<uint32_t>(servers_.count));
    std::string key =
        "servers=" + std::to_string(servers_.count) + " of generation " + std::to_string(observed_.job.generation);
    // The same number for another reason is another order: it may have been given, and answered, before.
    for (const ObservedPod* pod : servers_.leaving) {
      if (pod->index < servers_.count && pod->draining_since) key += ", again with " + pod->uid;
      if (!pod->stands_in_for.empty()) key += ", without " + pod->uid;
    }
    if (servers_.count > servers_.wanted) key += ", one more for " + CurrentMove(observed_)->pod_uid;
    const Reply reply = directives_.AskCoordinator(key, directive, Counted(servers_.count, "server") + " are wanted");
    if (reply.state == Reply::State::kRefused) changes_.refused = reply.message;
  }

  void ReportEvents() {
    const auto count = [](const Draft::Needs& acts) { return static_cast<int64_t>(acts.size()); };
    if (!created_.empty() && !servers_.formed) {
      draft_.Normal(kEventServersCreated, "CreateServers", "Created " + Counted(count(created_), "server pod"),
                    created_);
    } else if (!created_.empty()) {
      draft_.Normal(kEventServersJoining, "ScaleServers",
                    "Created " + Counted(count(created_), "server pod") + " (" + std::to_string(servers_.count) +
                        " wanted); rows move there while training continues",
                    created_);
    }
    if (!newly_draining_.empty()) {
      draft_.Normal(kEventServersDraining, "ScaleServers",
                    "Moving the rows of " + Counted(count(newly_draining_), "server") +
                        " to the others, highest index first, while training continues (" +
                        std::to_string(servers_.count) + " wanted)",
                    newly_draining_);
    }
  }

  const Observed& observed_;
  const ServersView& servers_;
  const CoordinatorView& coordinator_;
  const PlanOptions& options_;
  const Now now_;
  Directives& directives_;
  Draft& draft_;
  const v1::JobWindow* const window_;
  ServerChanges changes_;
  Draft::Needs created_, newly_draining_;
  int32_t numbered_ = 0;
};

}  // namespace

ServerChanges PlanServerChanges(const Observed& observed, const ServersView& servers,
                                const CoordinatorView& coordinator, const PlanOptions& options, Now now,
                                Directives& directives, Draft& draft) {
  return ServerPlanner(observed, servers, coordinator, options, now, directives, draft).Run();
}

}  // namespace attune::controller
