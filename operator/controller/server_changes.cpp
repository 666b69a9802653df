#include "operator/controller/server_changes.h"

#include <algorithm>

#include "operator/controller/failure.h"
#include "operator/controller/pods.h"
#include "operator/controller/text.h"
#include "operator/controller/timestamp.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

constexpr Duration kLookAgain = std::chrono::seconds(1);

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
      } else if (HasFailed(*pod)) {
        ++changes_.replaced;
        PlanFailed(*pod);
      }
    }
    TellNumber();
    TellEvents();
    return changes_;
  }

 private:
  bool ended_by_itself() const { return servers_.finished > 0; }  // the goal is reached; nothing is made any more

  void PlanMissing(int32_t index) {
    if (ended_by_itself() || !(servers_.elastic || servers_.survivable)) return;
    const std::string name = PodName(observed_.job.name, RoleName::kServer, index);
    if (NameInUse(observed_, name)) return;  // its end wakes us
    const bool may_hold_rows = servers_.begun || servers_.unheard;
    if ((window_ == nullptr && may_hold_rows) || coordinator_.moving) {
      draft_.Requeue(kLookAgain, "word of the coordinator");  // who would tell a new server from a lost one
      return;
    }
    draft_.Create(CreatePod{BuildPod(observed_.job, RoleName::kServer, index, servers_.count, options_),
                            std::to_string(servers_.count) + " servers are wanted"});
    ++created_;
  }

  // Tells the coordinator that this pod's process has ended for good; true when it need not be waited for.
  bool IsToldGone(const ObservedPod& pod, Duration since) {
    if (pod.name == coordinator_.pod || !HasStarted(pod)) return true;
    v1::Directive directive;
    directive.mutable_node_gone()->set_role(ToString(pod.role));
    directive.mutable_node_gone()->set_index(static_cast<uint32_t>(pod.index));
    directive.mutable_node_gone()->set_pod_uid(pod.uid);
    const Reply reply = directives_.AskCoordinator("gone=" + pod.uid, directive, pod.name + " has ended");
    if (reply.state == Reply::State::kDone || reply.state == Reply::State::kRefused) return true;
    if (since >= options_.gone_patience) return true;
    draft_.Requeue(std::min<Duration>(kLookAgain, options_.gone_patience - since), "the coordinator's answer");
    return false;
  }

  void PlanFailed(const ObservedPod& pod) {
    if (ended_by_itself()) return;
    if (!pod.failure_number) return CountFailure(pod);
    if (observed_.job.status.servers.failed < *pod.failure_number) return;  // counted by this plan's status
    const Duration delay = RestartDelay(options_, *pod.failure_number);
    const Duration waited =
        pod.container.finished_at ? now_.wall - *pod.container.finished_at : std::max(delay, options_.gone_patience);
    const bool told = IsToldGone(pod, waited);
    if (waited < delay) {
      draft_.Requeue(std::min(delay, delay - waited), "replacement of " + pod.name);
    } else if (told) {
      draft_.Remove(pod, 0, "its failure is recorded; a new server follows");
    }
  }

  void CountFailure(const ObservedPod& pod) {
    const int32_t number = ++numbered_ + HighestNumber();
    draft_.Mark(pod, {{kAnnotationFailureNumber, std::to_string(number)}},
                "server failure " + std::to_string(number) + " of the job");
    const std::string rows = !servers_.begun                  ? "nothing has been trained yet"
                             : observed_.job.spec.backups > 0 ? "its rows come back from their backups"
                                                              : "its rows come back from the last checkpoint";
    draft_.Warn(kEventServerFailed, "ReplaceServer",
                pod.name + " " + DescribeEnd(pod) + "; " + rows + ", and a new server follows (" +
                    std::to_string(number) + " of at most " +
                    std::to_string(observed_.job.spec.run_policy.backoff_limit) + ")." + LogTail(observed_, pod));
    draft_.Requeue(RestartDelay(options_, number), "replacement of " + pod.name);
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
    const bool ended = HasFailed(pod) || HasSucceeded(pod) || !HasStarted(pod);
    if (!ended) return PlanOverdue(pod);
    const Duration since = pod.container.finished_at ? now_.wall - *pod.container.finished_at : options_.gone_patience;
    if (!IsToldGone(pod, since)) return;
    if (pod.held) {
      draft_.Warn(kEventServerReplaced, "ReplaceServer",
                  pod.name + (pod.node.empty() ? "" : " on node " + pod.node) +
                      " was deleted from outside; a new server follows");
    }
    PlanGoing(pod);
  }

  void PlanOverdue(const ObservedPod& pod) {
    const WallTime overdue_at = *pod.deletion_time + options_.lost_node_grace;
    if (now_.wall < overdue_at) {
      draft_.Requeue(overdue_at - now_.wall, "deletion of " + pod.name);
    } else {
      PlanGoing(pod);
    }
  }

  // Nothing more to record: let go of it, and see to it that its name gets free.
  void PlanGoing(const ObservedPod& pod) {
    draft_.Release(pod, "nothing more to record of it");
    const WallTime overdue_at = *pod.deletion_time + options_.lost_node_grace;
    if (now_.wall < overdue_at) {
      draft_.Requeue(overdue_at - now_.wall, "deletion of " + pod.name);
      return;
    }
    draft_.ForceDelete(pod, "its machine has not confirmed its end in time");
    draft_.Warn(kEventNodeLost, "ForceDeleteServer",
                pod.name + " did not end within its grace period" +
                    (pod.node.empty() ? "" : "; node " + pod.node + " is not heard from") +
                    ". Removed it without confirmation, so that another server can take its place");
  }

  void PlanLeaving(const ObservedPod& pod) {
    ++changes_.leaving;
    if (IsBeingDeleted(pod)) {
      PlanGoing(pod);
    } else if (!HasStarted(pod)) {
      Leave(pod, "had not started", std::nullopt);
    } else if (HasSucceeded(pod)) {
      Leave(pod, "its rows have moved to the others", 0);
    } else if (HasFailed(pod)) {
      if (!IsToldGone(pod, pod.container.finished_at ? now_.wall - *pod.container.finished_at : options_.gone_patience))
        return;
      draft_.Warn(kEventServerLeft, "DeleteServer",
                  pod.name + " " + DescribeEnd(pod) + " while leaving." + LogTail(observed_, pod));
      draft_.Remove(pod, 0, "it left the job");
    } else if (!pod.draining_since) {
      draft_.Mark(pod, {{kAnnotationDraining, ToRfc3339(now_.wall)}}, "beyond the wanted number of servers");
      ++newly_draining_;
    } else {
      PlanDraining(pod);
    }
  }

  void PlanDraining(const ObservedPod& pod) {
    if (window_ == nullptr) return;
    const auto state = StateOf(*window_, pod.index);
    if (state == v1::ServerState::DRAINED) return Leave(pod, "its rows have moved to the others", std::nullopt);
    if (state && pod.index < servers_.count) return PlanWantedAgain(pod, *state);
    if (state) return;  // its coordinator's next word wakes us
    // It has not joined, or has left and is about to end.
    const Duration since = now_.wall - *pod.draining_since;
    if (since >= options_.gone_patience) return Leave(pod, "was no member", std::nullopt);
    draft_.Requeue(options_.gone_patience - since, "end of " + pod.name);
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
    draft_.Normal(kEventServerLeft, "DeleteServer", pod.name + " left the job (" + how + ")");
    draft_.Remove(pod, grace_seconds, "it left the job");
  }

  // The coordinator moves rows to who joins and away from who leaves.
  void TellNumber() {
    if (!servers_.elastic || !servers_.begun || window_ == nullptr || coordinator_.moving || ended_by_itself()) return;
    const ObservedPod* host = CoordinatorPod(observed_);
    if (host != nullptr && host->index >= servers_.count) return;  // it would empty the server it runs in
    for (int32_t index = 0; index < servers_.count; ++index) {
      if (StateOf(*window_, index) != v1::ServerState::SERVING) ++changes_.joining;
    }
    changes_.joining = std::max(0, changes_.joining - changes_.replaced);
    const bool settled =
        changes_.joining == 0 && changes_.leaving == 0 && static_cast<int32_t>(MemberCount(*window_)) <= servers_.count;
    if (settled || changes_.replaced > 0) return;
    v1::Directive directive;
    directive.mutable_set_servers()->set_servers(static_cast<uint32_t>(servers_.count));
    const Reply reply = directives_.AskCoordinator(
        "servers=" + std::to_string(servers_.count) + " of generation " + std::to_string(observed_.job.generation),
        directive, Counted(servers_.count, "server") + " are wanted");
    if (reply.state == Reply::State::kRefused) changes_.refused = reply.message;
  }

  void TellEvents() {
    if (created_ > 0) {
      draft_.Normal(kEventServersJoining, "ScaleServers",
                    "Created " + Counted(created_, "server pod") + " (" + std::to_string(servers_.count) +
                        " wanted); rows move there while training goes on");
    }
    if (newly_draining_ > 0) {
      draft_.Normal(kEventServersDraining, "ScaleServers",
                    "Moving the rows of " + Counted(newly_draining_, "server") +
                        " to the others, highest index first, while training goes on (" +
                        std::to_string(servers_.count) + " wanted)");
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
  int32_t created_ = 0, newly_draining_ = 0, numbered_ = 0;
};

}  // namespace

ServerChanges PlanServerChanges(const Observed& observed, const ServersView& servers,
                                const CoordinatorView& coordinator, const PlanOptions& options, Now now,
                                Directives& directives, Draft& draft) {
  return ServerPlanner(observed, servers, coordinator, options, now, directives, draft).Run();
}

}  // namespace attune::controller
