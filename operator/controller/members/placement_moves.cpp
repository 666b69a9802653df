#include "operator/controller/members/placement_moves.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "operator/controller/members/move.h"

namespace attune::controller {
namespace {

using api::ServerPlacement;
using api::WorkerPlacement;

constexpr char kField[] = "spec.placement.";

class PlacementView {
 public:
  PlacementView(const Observed& observed, const MoveFacts& facts) : observed_(observed), facts_(facts) {
    for (const ObservedPod& pod : observed.pods) {
      const bool is_server = IsServerOf(observed, pod);
      if ((!is_server && !IsWorkerOf(observed, pod)) || !IsAlive(pod) || pod.node.empty()) continue;
      (is_server ? servers_ : workers_).push_back(&pod);
      ++(is_server ? servers_on_ : workers_on_)[pod.node];
    }
    // The last one first, and the coordinator's server when there is no other: that one moves the coordinator, too.
    const auto rank = [&](const ObservedPod* pod) { return std::pair(!HostsCoordinator(*pod), pod->index); };
    std::ranges::sort(servers_, std::greater<>(), rank);
    std::ranges::sort(workers_, std::greater<>(), rank);
  }

  std::optional<PlacementMove> ForServers(ServerPlacement rule) const {
    if (!facts_.elastic) return std::nullopt;
    switch (rule) {
      case ServerPlacement::kAny:
        return std::nullopt;
      case ServerPlacement::kSpread:
        return Spread(servers_, servers_on_, "servers");
      case ServerPlacement::kPack:
        return Pack(servers_, "servers");
      case ServerPlacement::kWithWorkers:
        return WithWorkers();
    }
    return std::nullopt;
  }

  std::optional<PlacementMove> ForWorkers(WorkerPlacement rule) const {
    if (rule == WorkerPlacement::kSpread) return Spread(workers_, workers_on_, "workers");
    if (rule == WorkerPlacement::kPack) return Pack(workers_, "workers");
    return std::nullopt;
  }

 private:
  using Pods = std::vector<const ObservedPod*>;
  using Counts = std::map<std::string, int>;

  bool HostsCoordinator(const ObservedPod& pod) const { return pod.name == observed_.job.status.coordinator; }

  static int At(const Counts& counts, const std::string& node) {
    const auto found = counts.find(node);
    return found == counts.end() ? 0 : found->second;
  }

  int PodsOn(const std::string& node) const { return At(servers_on_, node) + At(workers_on_, node); }

  // As far as machines are known; kube-scheduler has the last word, and a move that finds no room is given up.
  bool HasRoom(const std::string& node, const ObservedPod& pod) const {
    if (!observed_.machines) return true;
    const auto machine = std::ranges::find(*observed_.machines, node, &scheduler::Machine::name);
    return machine != observed_.machines->end() && machine->free.cpu_cores >= pod.requests.cpu_cores &&
           machine->free.memory_bytes >= pod.requests.memory_bytes;
  }

  // From the fullest machine to the emptiest, while they differ by two: a move that only swaps them is none.
  std::optional<PlacementMove> Spread(const Pods& pods, const Counts& on, const std::string& role) const {
    if (!observed_.machines) return std::nullopt;  // none but those in use are known
    for (const ObservedPod* pod : ByCount(pods, on, /*fullest_first=*/true)) {
      const scheduler::Machine* best = nullptr;
      for (const scheduler::Machine& machine : *observed_.machines) {
        if (machine.name == pod->node || !HasRoom(machine.name, *pod)) continue;
        const auto rank = [&](const scheduler::Machine& m) { return std::pair(At(on, m.name), m.name); };
        if (best == nullptr || rank(machine) < rank(*best)) best = &machine;
      }
      if (best == nullptr || At(on, pod->node) - At(on, best->name) < 2) continue;
      return PlacementMove{pod, best->name,
                           kField + role + " is Spread: " + std::to_string(At(on, pod->node)) + " run on " + pod->node +
                               ", " + std::to_string(At(on, best->name)) + " on " + best->name};
    }
    return std::nullopt;
  }

  // From the machine with the fewest pods of the job to one with more, names deciding between equals. What leaves one
  // makes it emptier and the other fuller, so that nothing comes back.
  std::optional<PlacementMove> Pack(const Pods& pods, const std::string& role) const {
    Counts on = servers_on_;
    for (const auto& [node, count] : workers_on_) on[node] += count;
    const auto rank = [&](const std::string& node) { return std::pair(-At(on, node), node); };
    std::vector<std::string> nodes;
    for (const auto& [node, count] : on) nodes.push_back(node);
    std::ranges::sort(nodes, {}, rank);
    for (const ObservedPod* pod : ByCount(pods, on, /*fullest_first=*/false)) {
      for (const std::string& node : nodes) {
        if (rank(node) >= rank(pod->node)) break;
        if (!HasRoom(node, *pod)) continue;
        return PlacementMove{pod, node,
                             kField + role + " is Pack: " + std::to_string(PodsOn(node)) + " pods of the job run on " +
                                 node + ", " + std::to_string(PodsOn(pod->node)) + " on " + pod->node};
      }
    }
    return std::nullopt;
  }

  // To the machine that has the fewest servers for each of its workers.
  std::optional<PlacementMove> WithWorkers() const {
    for (const ObservedPod* pod : servers_) {
      if (workers_on_.contains(pod->node)) continue;
      std::optional<std::pair<double, std::string>> best;
      for (const auto& [node, workers] : workers_on_) {
        if (!HasRoom(node, *pod)) continue;
        std::pair rank(static_cast<double>(At(servers_on_, node)) / workers, node);
        if (!best || rank < *best) best = std::move(rank);
      }
      if (!best) continue;
      return PlacementMove{pod, best->second,
                           std::string(kField) + "servers is WithWorkers: no worker runs on " + pod->node + ", " +
                               std::to_string(At(workers_on_, best->second)) + " on " + best->second};
    }
    return std::nullopt;
  }

  static Pods ByCount(Pods pods, const Counts& on, bool fullest_first) {
    std::ranges::stable_sort(
        pods, {}, [&](const ObservedPod* pod) { return fullest_first ? -At(on, pod->node) : At(on, pod->node); });
    return pods;
  }

  const Observed& observed_;
  const MoveFacts& facts_;
  Pods servers_, workers_;
  Counts servers_on_, workers_on_;  // by machine
};

}  // namespace

bool AsksForPlacement(const api::Placement& placement) {
  return placement.servers != ServerPlacement::kAny || placement.workers != WorkerPlacement::kAny;
}

std::optional<PlacementMove> NextPlacementMove(const Observed& observed, const api::Placement& placement,
                                               const MoveFacts& facts) {
  const PlacementView view(observed, facts);
  if (auto move = view.ForWorkers(placement.workers)) return move;
  return view.ForServers(placement.servers);
}

void FollowPlacement(const Observed& observed, const MoveFacts& facts, Now now, Draft& draft) {
  const api::Placement& placement = observed.job.spec.placement;
  if (!AsksForPlacement(placement) || !facts.begun || facts.ends || !HasAllPods(observed)) return;
  if (IsTooSoonAgain(observed, kField, now)) return draft.Requeue(kMoveRetry, "spec.placement");
  const auto move = NextPlacementMove(observed, placement, facts);
  if (move) RequestMove(observed, *move->pod, move->to, move->why, now, draft);
}

}  // namespace attune::controller
