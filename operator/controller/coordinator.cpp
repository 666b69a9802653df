#include "operator/controller/coordinator.h"

#include <algorithm>
#include <vector>

#include "proto/contract.h"

namespace attune::controller {
namespace {

constexpr Duration kLookAgain = std::chrono::seconds(1);
constexpr int64_t kFirstTerm = 1;  // of the coordinator that a job begins with; one appointed later must be above it

bool IsLeaving(const ServersView& servers, const ObservedPod& pod) {
  return std::ranges::find(servers.leaving, &pod) != servers.leaving.end();
}

// The lowest index, so that it is the last to be scaled away; one that has not joined yet, and would refuse, or that
// leaves only when there is no other.
const ObservedPod* FindSuccessor(const Observed& observed, const ServersView& servers, const ObservedPod* host,
                                 bool leaving_too) {
  const auto fits = [&](const ObservedPod* pod) {
    return pod != nullptr && pod != host && IsAlive(*pod) && IsConnected(observed, *pod);
  };
  const auto& window = observed.sample.job;  // the last one's words
  const auto has_joined = [&](const ObservedPod* pod) {
    return fits(pod) && (!window || IsMember(*window, pod->index));
  };
  const auto member = std::ranges::find_if(servers.by_index, has_joined);
  if (member != servers.by_index.end()) return *member;
  const auto found = std::ranges::find_if(servers.by_index, fits);
  if (found != servers.by_index.end()) return *found;
  if (!leaving_too) return nullptr;
  const auto leaving = std::ranges::find_if(servers.leaving, fits);
  return leaving == servers.leaving.end() ? nullptr : *leaving;
}

v1::NodeGone GoneNode(RoleName role, size_t index, const std::string& pod_uid) {
  v1::NodeGone node;
  node.set_role(role == RoleName::kServer ? contract::kRoleServer : contract::kRoleWorker);
  node.set_index(static_cast<uint32_t>(index));
  node.set_pod_uid(pod_uid);
  return node;
}

// Whose process has ended for good: by its pod's word, or because a server has no pod any more.
std::vector<v1::NodeGone> Gone(const Observed& observed, const ServersView& servers) {
  std::vector<v1::NodeGone> gone;
  for (const ObservedPod& pod : observed.pods) {
    if (pod.index < 0 || pod.job_uid != observed.job.uid || !(HasFailed(pod) || HasSucceeded(pod))) continue;
    gone.push_back(GoneNode(pod.role, static_cast<size_t>(pod.index), pod.uid));
  }
  for (size_t index = 0; index < servers.by_index.size(); ++index) {
    const bool exists = std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
      return pod.role == RoleName::kServer && pod.index == static_cast<int64_t>(index);
    });
    if (!exists) gone.push_back(GoneNode(RoleName::kServer, index, ""));
  }
  return gone;
}

}  // namespace

CoordinatorView PlanCoordinator(const Observed& observed, const ServersView& servers, Directives& directives,
                                Draft& draft) {
  const api::TrainingJobStatus& status = observed.job.status;
  CoordinatorView view{status.coordinator, status.coordinator_term, false};
  if (!servers.formed) {
    if (servers.count > 0 && servers.all_started()) view.pod = PodName(observed.job.name, RoleName::kServer, 0);
    return view;
  }
  if (!status.abilities || !status.abilities->coordinator_failover || servers.finished > 0) return view;
  const ObservedPod* host = CoordinatorPod(observed);
  const bool host_alive = host != nullptr && IsAlive(*host);
  if (!host_alive && servers.unheard) {
    view.moving = true;
    draft.Requeue(kLookAgain, "reports of the servers: whether the job has begun");
    return view;
  }
  if (!host_alive && !servers.begun) {
    draft.Requeue(kLookAgain, "the server that the coordinator ran in; the job begins anew there");
    return view;
  }
  const ObservedPod* successor = FindSuccessor(observed, servers, host, !host_alive);
  // One that leaves stays in office until there is somebody else.
  if (host_alive && (successor == nullptr || !IsLeaving(servers, *host))) {
    if (status.coordinator_term == 0 || directives.window() != nullptr) return view;
    v1::Directive directive;
    directive.mutable_host_coordinator()->set_term(static_cast<uint64_t>(status.coordinator_term));
    directives.Ask(*host, "coordinator of term " + std::to_string(status.coordinator_term), directive,
                   "it was appointed");
    // It need not wait for the answers of these. A pod may vanish only after the order, too.
    for (const v1::NodeGone& gone : Gone(observed, servers)) {
      v1::Directive word;
      *word.mutable_node_gone() = gone;
      const std::string name = gone.role() + " " + std::to_string(gone.index());
      directives.Ask(*host, name + " is gone, term " + std::to_string(status.coordinator_term), word,
                     name + " has no process any more");
    }
    view.moving = true;
    draft.Requeue(kLookAgain, "first word of the coordinator");
    return view;
  }
  view.moving = true;
  if (successor == nullptr) {
    draft.Requeue(kLookAgain, "a server that can run the coordinator");
    return view;
  }
  const uint64_t heard = observed.sample.job ? observed.sample.job->term() : 0;
  view.pod = successor->name;
  view.term = std::max({kFirstTerm, status.coordinator_term, static_cast<int64_t>(heard)}) + 1;
  draft.Warn(kEventCoordinatorAppointed, "AppointCoordinator",
             successor->name + " takes over the coordinator from " + status.coordinator +
                 (host_alive ? ", which is to leave" : ", which is gone") + " (term " + std::to_string(view.term) +
                 ")");
  return view;
}

}  // namespace attune::controller
