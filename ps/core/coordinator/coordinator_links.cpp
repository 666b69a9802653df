// Members that the coordinator hears, and that do not reach each other (ps/core/membership/link_watch.h). A joining
// member without all of its links is given no shards.
#include <algorithm>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::NoteLinks(const Node& node, const Heartbeat& heartbeat, MonotonicTime now) {
  const NodeId id = node.member.node;
  std::vector<NodeId> unreached;
  for (const NodeId other : heartbeat.unreached) {
    if (other != id && members_.contains(other)) unreached.push_back(other);
  }
  // A joining member may be waiting for this word.
  if (links_.Said(id, unreached, now) || heartbeat.map_version != node.last.map_version) placement_.NoteChange();
}

// Rows come before training: no member is given up with rows that have no copy, nor with a vote that is needed, unless
// the operator can take its place: with half of the votes the coordinator continues once that is confirmed. The server
// that it runs in cannot be given up: its end would be the coordinator's. While rows are recovered any server may have
// their only copies.
bool CoordinatorCore::MayGiveUp(const Node& node, MonotonicTime now) const {
  if (node.lost || leadership_.IsHost(node.member) || recoveries_.in_progress() ||
      members_.WouldCostRows(node, map_, now))
    return false;
  if (node.member.role == Role::kWorker) return true;
  const auto servers = std::ranges::count_if(
      members_, [](const auto& entry) { return entry.second.member.role == Role::kServer && !entry.second.lost; });
  return servers >= 2 &&
         (leadership_.HasHalfOfTheVotes(node.member.node) || leadership_.MayLose({node.member.node}, now));
}

std::optional<LinkWatch::Candidate> CoordinatorCore::WhoMayBeGivenUp(NodeId id, MonotonicTime now) const {
  const Node* node = members_.Find(id);
  if (node == nullptr || !MayGiveUp(*node, now)) return std::nullopt;
  const Member& member = node->member;
  const bool is_server = node->is_server();
  return LinkWatch::Candidate{.role = member.role,
                              .index = member.index,
                              .vote_is_missed = is_server && !leadership_.MayLose({id}, now),
                              .has_rows = is_server && !MemberTable::IsEmpty(*node, map_)};
}

void CoordinatorCore::CheckLinks(MonotonicTime now, CoordinatorOutputs& out) {
  if (IsFinished()) return links_.GiveUpNone();
  const bool may_be_chosen = map_.formed() && leadership_.Held(now) && !options_.mutations.links_not_watched;
  const auto candidate = [&](NodeId id) { return WhoMayBeGivenUp(id, now); };
  if (const auto given_up = links_.Check(now, may_be_chosen, candidate)) {
    out.events.push_back(WhyGivenUp(*given_up, now) + "; it is given up");
  }
}

std::string CoordinatorCore::WhyGivenUp(NodeId id, MonotonicTime now) const {
  return links_.Describe(id, now, [this](NodeId node) { return members_.Name(node); });
}

}  // namespace attune::ps
