#include "ps/core/membership/reachability.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/pause_watch.h"

namespace attune::ps {

void Reachability::Said(NodeId member, const std::vector<NodeId>& unreached, MonotonicTime now) {
  std::map<std::pair<NodeId, NodeId>, MonotonicTime> said;
  for (const NodeId other : unreached) said.emplace(std::pair{member, other}, now);
  for (auto it = missing_.lower_bound({member, NodeId()}); it != missing_.end() && it->first.first == member;) {
    if (const auto still = said.find(it->first); still != said.end()) still->second = it->second;
    it = missing_.erase(it);
  }
  missing_.merge(said);
}

void Reachability::Forget(NodeId member) {
  std::erase_if(missing_,
                [&](const auto& entry) { return entry.first.first == member || entry.first.second == member; });
}

void Reachability::Forgive(Duration time, MonotonicTime now) {
  for (auto& [link, since] : missing_) since = std::min(now, MovedBy(time, since));
}

bool Reachability::HasAllLinks(NodeId member) const {
  return std::ranges::none_of(
      missing_, [&](const auto& entry) { return entry.first.first == member || entry.first.second == member; });
}

// Both ends of each link may name it.
std::map<NodeId, std::vector<NodeId>> Reachability::Missing(MonotonicTime now) const {
  std::map<NodeId, std::set<NodeId>> others;
  for (const auto& [link, since] : missing_) {
    if (now - since < timeout_) continue;
    others[link.first].insert(link.second);
    others[link.second].insert(link.first);
  }
  std::map<NodeId, std::vector<NodeId>> missing;
  for (const auto& [member, named] : others) missing.emplace(member, std::vector(named.begin(), named.end()));
  return missing;
}

std::optional<NodeId> Reachability::ToGo(const std::vector<Candidate>& candidates, MonotonicTime now) const {
  const auto missing = Missing(now);
  size_t most = 0;
  for (const auto& [member, others] : missing) most = std::max(most, others.size());
  const Candidate* chosen = nullptr;
  for (const Candidate& candidate : candidates) {
    const auto found = missing.find(candidate.node);
    if (found == missing.end() || found->second.size() < most) continue;
    if (chosen == nullptr || std::tie(candidate.cost, candidate.node) < std::tie(chosen->cost, chosen->node)) {
      chosen = &candidate;
    }
  }
  return chosen == nullptr ? std::nullopt : std::optional(chosen->node);
}

}  // namespace attune::ps
