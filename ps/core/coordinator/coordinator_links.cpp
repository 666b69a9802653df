// Members that the coordinator hears, and that do not reach each other (reachability.h). A joining member without all
// of its links is given no shards. Of two that stay apart one is given up: its heartbeats are not answered and do not
// count any more, so its lease runs out and it is lost in the same way, and with the same care, as one that is silent.
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::NoteLinks(const Node& node, const Heartbeat& heartbeat, MonotonicTime now) {
  const NodeId id = node.member.node;
  std::vector<NodeId> unreached;
  for (const NodeId other : heartbeat.unreached) {
    if (other != id && nodes_.contains(other)) unreached.push_back(other);
  }
  const bool had_all = links_.HasAllLinks(id);
  links_.Said(id, unreached, now);
  // A joining member may be waiting for this word.
  if (had_all != links_.HasAllLinks(id) || heartbeat.map_version != node.last.map_version) placement_.NoteChange();
}

// Rows come before training: no member is given up with rows that have no copy, nor with a vote that is needed, unless
// the operator can take its place: with half of the votes the coordinator continues once that is confirmed. The server
// that it runs in cannot be given up: its end would be the coordinator's. While rows are recovered any server may have
// their only copies.
bool CoordinatorCore::MayGiveUp(const Node& node, MonotonicTime now) const {
  if (node.lost || IsHost(node.member) || recoveries_.in_progress() || WouldCostRows(node, now)) return false;
  if (node.member.role == Role::kWorker) return true;
  const auto servers = std::ranges::count_if(
      nodes_, [](const auto& entry) { return entry.second.member.role == Role::kServer && !entry.second.lost; });
  return servers >= 2 && (lease_.HasHalfOfTheVotes(node.member.node) || MayLose({node.member.node}, now));
}

// Among equals the one that was given up less often, since the last choice may not have helped; then a server that
// holds nothing, a worker, and last a server whose rows have to be taken over. One whose vote is missed after all
// others: should the operator be away, the whole job would wait for it.
std::vector<Reachability::Candidate> CoordinatorCore::WhoMayBeGivenUp(MonotonicTime now) const {
  constexpr uint32_t kAfterAllOthers = 1U << 31;
  std::vector<Reachability::Candidate> candidates;
  for (const auto& [id, others] : links_.Missing(now)) {
    const Node& node = nodes_.at(id);
    if (!MayGiveUp(node, now)) continue;
    const bool is_worker = node.member.role == Role::kWorker;
    const auto times = times_given_up_.find({node.member.role, node.member.index});
    const uint32_t order =
        (times == times_given_up_.end() ? 0 : times->second) + (is_worker || MayLose({id}, now) ? 0 : kAfterAllOthers);
    candidates.push_back({.node = id, .cost = {order, is_worker ? 1 : Empty(node) ? 0 : 2}});
  }
  return candidates;
}

void CoordinatorCore::CheckLinks(MonotonicTime now, CoordinatorOutputs& out) {
  const Node* const before = given_up_ ? Find(*given_up_) : nullptr;
  const bool still = before != nullptr && MayGiveUp(*before, now) && links_.Missing(now).contains(*given_up_);
  if (!still || IsFinished()) given_up_.reset();
  if (given_up_ || !map_.formed() || IsFinished() || !HoldsLease(now) || options_.mutations.links_not_watched) return;
  given_up_ = links_.ToGo(WhoMayBeGivenUp(now), now);
  if (!given_up_) return;
  const Member& member = nodes_.at(*given_up_).member;
  if (times_given_up_.size() >= kMembersMax) times_given_up_.clear();
  ++times_given_up_[{member.role, member.index}];
  out.events.push_back(WhyGivenUp(*given_up_, now) + "; it is given up");
}

// All members know of it, and no link between it and them is missing.
bool CoordinatorCore::IsReachedByAll(NodeId joining) const {
  if (!links_.HasAllLinks(joining)) return false;
  return std::ranges::all_of(nodes_, [&](const auto& entry) {
    const Node& node = entry.second;
    return entry.first == joining || node.lost || node.last.map_version >= map_.version;
  });
}

std::string CoordinatorCore::WhyGivenUp(NodeId id, MonotonicTime now) const {
  constexpr size_t kNamed = 3;
  const std::vector<NodeId> missing = links_.Missing(now)[id];
  std::string text = Name(id) + " has had no connection for " +
                     std::to_string(static_cast<int64_t>(Seconds(options_.link_timeout))) + " s to ";
  for (size_t i = 0; i < std::min(missing.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + Name(missing[i]);
  if (missing.size() > kNamed) text += " and " + std::to_string(missing.size() - kNamed) + " more";
  return text;
}

}  // namespace attune::ps
