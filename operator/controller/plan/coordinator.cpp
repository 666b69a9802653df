#include "operator/controller/plan/coordinator.h"

#include <algorithm>
#include <vector>

#include "operator/controller/observe/text.h"
#include "operator/controller/plan/evidence.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

constexpr Duration kLookSoon = std::chrono::milliseconds(250);  // training stands meanwhile
constexpr int64_t kFirstTerm = 1;     // of the coordinator that a job begins with; one appointed later must be above it
constexpr uint32_t kRefusalsMax = 3;  // of a member that was appointed, while another server could be

// Why the coordinator's server cannot continue as such, and who may follow.
struct Need {
  std::string why;                        // "which is gone"; "": there is none
  bool alive = false;                     // it continues until another one has taken over
  bool must_hear = false;                 // the next one must be heard of by this operator
  bool without_lease = false;             // it never got the one that it was appointed to
  bool refused = false;                   // by the one that was appointed
  std::vector<const ObservedPod*> among;  // empty: any server
};

v1::Voters ToProto(const api::CoordinatorVoters& voters) {
  v1::Voters message;
  message.set_map_version(voters.map_version);
  message.mutable_nodes()->Assign(voters.nodes.begin(), voters.nodes.end());
  return message;
}

std::string KeyOf(int64_t term) { return "coordinator of term " + std::to_string(term); }

class CoordinatorPlanner {
 public:
  CoordinatorPlanner(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now,
                     Directives& directives, Draft& draft)
      : observed_(observed),
        status_(observed.job.status),
        servers_(servers),
        options_(options),
        now_(now),
        directives_(directives),
        draft_(draft),
        host_(CoordinatorPod(observed)),
        view_(CoordinatorOf(status_)) {}

  CoordinatorView Run() {
    const bool host_alive = host_ != nullptr && IsAlive(*host_);
    if (!servers_.begun) {
      draft_.Requeue(kLookAgain, host_alive ? "the coordinator's word that all servers have joined"
                                            : "the server that the coordinator ran in; the job starts over there");
    }
    if (!host_alive && !servers_.begun) return view_;
    const Need need = host_alive ? NeedOfAlive() : Need{.why = "which is gone"};
    const ObservedPod* successor = need.why.empty() ? nullptr : FindSuccessor(need);
    if (successor != nullptr) {
      Appoint(*successor, need.why);
    } else if (host_alive) {
      GoOn();
    } else {
      view_.moving = true;
      draft_.Requeue(kLookAgain, "a server that can run the coordinator");
    }
    return view_;
  }

 private:
  // --- whether another one is needed

  Need NeedOfAlive() {
    const bool covered = observed_.job.spec.backups > 0;
    const Duration silence = covered ? options_.coordinator_silence : options_.coordinator_silence_without_backups;
    const CoordinatorSigns signs = SignsOfCoordinator(observed_, *host_, silence, options_, now_);
    if (servers_.begun && servers_.survivable) {
      if (signs.any()) draft_.Requeue(kLookSoon, "a report of the coordinator or of those that do not hear it");
      if (signs.is_lost()) return {.why = "which is silent: " + Describe(signs), .must_hear = true};
      if (signs.is_behind() && HadTime()) {
        return {.why = "which does not know the newest members: " + Describe(signs),
                .must_hear = true,
                .without_lease = directives_.window() == nullptr,
                .among = signs.ahead};
      }
      if (signs.is_cut_off() && HadTime()) {
        return {.why = "which is cut off: " + Describe(signs),
                .must_hear = true,
                .without_lease = directives_.window() == nullptr,
                .among = signs.missed_by};
      }
    }
    if (HasRefused()) return {.why = "which refuses", .must_hear = true, .without_lease = true, .refused = true};
    // One that is leading hands over. One that was appointed because no other may know the job's rows has to begin
    // first.
    const bool leaves = std::ranges::find(servers_.leaving, host_) != servers_.leaving.end();
    if (leaves && directives_.window() != nullptr) return {.why = "which is to leave", .alive = true};
    return {};
  }

  // One that has been appointed has no lease before it has heard from half of the servers.
  bool HadTime() const {
    if (directives_.window() != nullptr) return true;
    const auto sent = observed_.sent.find(KeyOf(status_.coordinator_term));
    return sent != observed_.sent.end() && now_.monotonic - sent->second >= options_.takeover_timeout;
  }

  // It was released, or cannot run one for another reason: a member that has not joined yet gets some time.
  bool HasRefused() const {
    if (directives_.window() != nullptr || status_.coordinator_term == 0) return false;
    const auto answer = observed_.sample.answers.find(KeyOf(status_.coordinator_term));
    if (answer == observed_.sample.answers.end() || answer->second.refusals == 0) return false;
    return !IsKnownMember(*host_) || answer->second.refusals >= kRefusalsMax;
  }

  // --- who follows

  // By the last coordinator's word; without any, every server may be one.
  bool IsKnownMember(const ObservedPod& pod) const {
    return !observed_.sample.job || IsMember(*observed_.sample.job, pod.index);
  }

  // The one with the newest map: another one may have been declared lost and not know it. Of several the lowest index,
  // so that it is the last to be scaled away; one that is not heard or has not joined yet, and would
  // refuse, or that leaves, only when there is no other.
  const ObservedPod* FindSuccessor(const Need& need) const {
    const auto fits = [&](const ObservedPod* pod) {
      if (pod == nullptr || pod == host_ || !IsAlive(*pod) || !IsConnected(observed_, *pod)) return false;
      if (IsDeclaredLost(observed_, *pod)) return false;
      return need.among.empty() || std::ranges::find(need.among, pod) != need.among.end();
    };
    const auto heard = [&](const ObservedPod* pod) { return IsHeard(observed_, *pod, options_, now_); };
    const auto find = [&](const std::vector<const ObservedPod*>& pods, bool only_heard, bool only_members) {
      const auto found = std::ranges::find_if(pods, [&](const ObservedPod* pod) {
        return fits(pod) && (!only_heard || heard(pod)) && (!only_members || IsKnownMember(*pod));
      });
      return found == pods.end() ? nullptr : *found;
    };
    // Where it is not known who is a member, each is asked in turn; it may be that only one that is to leave is one.
    std::vector<const ObservedPod*> pods = servers_.by_index;
    if (need.refused) {
      pods.insert(pods.end(), servers_.leaving.begin(), servers_.leaving.end());
      if (const auto host = std::ranges::find(pods, host_); host != pods.end()) {
        std::rotate(pods.begin(), host + 1, pods.end());
      }
    } else {
      std::ranges::stable_sort(pods, std::greater(), [&](const ObservedPod* pod) {
        return pod == nullptr ? 0 : MapVersionOf(observed_, *pod);
      });
    }
    const ObservedPod* found = find(pods, true, true);
    // The last report of the members may be older than the server that is the only one left of them.
    if (found == nullptr && need.without_lease) found = find(pods, true, false);
    // A leading one is not given up for one that would refuse.
    const bool any_will_do = !need.must_hear;
    if (found == nullptr && any_will_do) found = find(pods, false, true);
    if (found == nullptr && any_will_do) found = find(pods, false, false);
    // One that leaves and is no member has been released: the others continued without it.
    if (found == nullptr && !need.alive) found = find(servers_.leaving, need.must_hear, true);
    return found;
  }

  void Appoint(const ObservedPod& successor, const std::string& why) {
    const uint64_t heard = observed_.sample.job ? observed_.sample.job->term() : 0;
    view_.moving = true;
    view_.pod = successor.name;
    view_.term = std::max({kFirstTerm, status_.coordinator_term, static_cast<int64_t>(heard)}) + 1;
    view_.why = successor.name + " takes over the coordinator from " + status_.coordinator + ", " + why + " (term " +
                std::to_string(view_.term) + ")";
    draft_.Requeue(kLookSoon, "the record of the appointment");
  }

  // --- the leading one

  void GoOn() {
    Confirm();
    // Of a job that has not begun it is the one that its pod was started as.
    if (status_.coordinator_term == 0 || !servers_.begun || directives_.window() != nullptr) return;
    v1::Directive directive;
    directive.mutable_host_coordinator()->set_term(static_cast<uint64_t>(status_.coordinator_term));
    if (status_.coordinator_voters) {
      *directive.mutable_host_coordinator()->mutable_voters() = ToProto(*status_.coordinator_voters);
    }
    directives_.Ask(*host_, KeyOf(status_.coordinator_term), directive, "it was appointed");
    // It need not wait for the answers of these. A pod may vanish only after the order, too.
    for (const v1::NodeGone& gone : Gone()) {
      v1::Directive word;
      *word.mutable_node_gone() = gone;
      const std::string name = gone.role() + " " + std::to_string(gone.index());
      directives_.Ask(*host_, name + " is gone, term " + std::to_string(status_.coordinator_term), word,
                      name + " has no process any more");
    }
    view_.moving = true;
    draft_.Requeue(kLookAgain, "first report of the coordinator");
  }

  // It names voters that it would continue with. They are in the status before it may, so that every later coordinator
  // has to ask these; and no other one was appointed before, or the status could not have been written.
  void Confirm() {
    const telemetry::PodSample* sample = SampleOf(observed_, *host_);
    if (sample == nullptr || !IsHeard(observed_, *host_, options_, now_)) return;
    const v1::LeaderLease& lease = sample->window.leader_lease();
    const int64_t term = std::max(kFirstTerm, status_.coordinator_term);
    if (lease.wanted_voters().empty() || lease.term() != static_cast<uint64_t>(term)) return;
    if (SignsOfCoordinator(observed_, *host_, options_.coordinator_silence, options_, now_).newer_map) return;
    const api::CoordinatorVoters wanted{
        .map_version = lease.map_version(),
        .nodes = {lease.wanted_voters().begin(), lease.wanted_voters().end()},
    };
    if (status_.coordinator_voters == wanted) return PassOn(wanted, term);
    if (status_.coordinator_voters && status_.coordinator_voters->map_version > wanted.map_version) return;
    view_.voters = wanted;
    view_.why = host_->name + " continues as coordinator with " +
                Counted(static_cast<int64_t>(wanted.nodes.size()), "server") + "; the others do not support it (term " +
                std::to_string(term) + ")";
    draft_.Requeue(kLookSoon, "the record of the confirmation");
  }

  void PassOn(const api::CoordinatorVoters& voters, int64_t term) {
    v1::Directive directive;
    directive.mutable_confirm_leader()->set_term(static_cast<uint64_t>(term));
    *directive.mutable_confirm_leader()->mutable_voters() = ToProto(voters);
    std::string key = "confirmed in term " + std::to_string(term) + " from map " + std::to_string(voters.map_version);
    for (const uint32_t node : voters.nodes) key += "," + std::to_string(node);
    const Reply reply = directives_.Ask(*host_, key, directive, "the status records it");
    if (reply.state != Reply::State::kDone) draft_.Requeue(kLookAgain, "the coordinator's answer");
  }

  // Whose process has ended for good: by its machine's word, or because a server has no pod any more.
  std::vector<v1::NodeGone> Gone() const {
    std::vector<v1::NodeGone> gone;
    const auto add = [&](RoleName role, size_t index, const std::string& pod_uid) {
      v1::NodeGone& node = gone.emplace_back();
      node.set_role(role == RoleName::kServer ? contract::kRoleServer : contract::kRoleWorker);
      node.set_index(static_cast<uint32_t>(index));
      node.set_pod_uid(pod_uid);
    };
    for (const ObservedPod& pod : observed_.pods) {
      if (pod.index < 0 || pod.job_uid != observed_.job.uid || !IsProvenEnded(pod)) continue;
      add(pod.role, static_cast<size_t>(pod.index), pod.uid);
    }
    for (size_t index = 0; index < servers_.by_index.size(); ++index) {
      const bool exists = std::ranges::any_of(observed_.pods, [&](const ObservedPod& pod) {
        return pod.role == RoleName::kServer && pod.index == static_cast<int64_t>(index);
      });
      if (!exists) add(RoleName::kServer, index, "");
    }
    return gone;
  }

  const Observed& observed_;
  const api::TrainingJobStatus& status_;
  const ServersView& servers_;
  const PlanOptions& options_;
  const Now now_;
  Directives& directives_;
  Draft& draft_;
  const ObservedPod* const host_;
  CoordinatorView view_;
};

}  // namespace

CoordinatorView CoordinatorOf(const api::TrainingJobStatus& status) {
  return {.pod = status.coordinator, .term = status.coordinator_term, .voters = status.coordinator_voters};
}

CoordinatorView PlanCoordinator(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                Now now, Directives& directives, Draft& draft) {
  const api::TrainingJobStatus& status = observed.job.status;
  if (!servers.formed) {
    CoordinatorView view = CoordinatorOf(status);
    if (servers.count > 0 && servers.all_started()) view.pod = PodName(observed.job.name, RoleName::kServer, 0);
    return view;
  }
  // A server that cannot run one refuses the appointment. A coordinator's own server ends with 0 when the job is over.
  const auto abilities = AbilitiesOf(observed);
  const bool can_move = !abilities || abilities->coordinator_failover;
  const ObservedPod* host = CoordinatorPod(observed);
  const bool is_over = servers.begun && host != nullptr && HasSucceeded(*host);
  if (!can_move || is_over) return CoordinatorOf(status);
  return CoordinatorPlanner(observed, servers, options, now, directives, draft).Run();
}

void ReportCoordinator(const api::TrainingJobStatus& before, const CoordinatorView& coordinator,
                       const Draft::Needs& written, Draft& draft) {
  if (coordinator.why.empty()) return;
  if (before.coordinator_term != coordinator.term) {
    draft.Warn(kEventCoordinatorAppointed, "AppointCoordinator", coordinator.why, written);
  } else {
    draft.Normal(kEventCoordinatorConfirmed, "ConfirmCoordinator", coordinator.why, written);
  }
}

}  // namespace attune::controller
