// When this coordinator may act: it asks all servers for their support, lets its grants end with its office, and asks
// the operator to be confirmed where a majority is missing (docs/decisions/0029).
#include <algorithm>
#include <utility>

#include "ps/core/coordinator_core.h"

namespace attune::ps {

SupportQuestion CoordinatorCore::AskForSupport(NodeId node, Role role) {
  if (role != Role::kServer || !OfficeCounts()) return {};
  return {.number = office_.Ask(node, now_), .lasts = options_.office_lease};
}

// What a node is allowed to do ends with the office that allows it.
Duration CoordinatorCore::GrantedLiveness(MonotonicTime now) const {
  if (!OfficeCounts()) return options_.liveness_lease;
  if (!office_.Held(now)) return Duration::zero();
  if (office_.ends() == kNever) return options_.liveness_lease;
  return std::min(options_.liveness_lease, office_.ends() - now);
}

void CoordinatorCore::CheckOffice(MonotonicTime now, CoordinatorOutputs& out) {
  const bool suspended = !InOffice(now);
  if (suspended != std::exchange(suspended_, suspended)) {
    out.events.push_back(suspended ? "the coordinator lacks the support of a majority of the servers; it suspends until "
                                     "they are heard of, proven gone, or the operator confirms it"
                                   : "a majority of the servers supports the coordinator; it continues");
  }
  WantConfirmation(now);
  if (suspended || !OfficeCounts() || !map_.formed()) return;
  const bool more = std::ranges::any_of(map_.members, [&](const Member& member) {
    return member.role == Role::kServer && !member.leaving && !office_.Votes(member.node) &&
           office_.IsFresh(member.node, now);
  });
  if (more) PublishMembers(out);
}

void CoordinatorCore::WantConfirmation(MonotonicTime now) {
  wanted_voters_.clear();
  if (!OfficeCounts() || !map_.formed() || finished_) return;
  std::vector<NodeId> servers;
  bool host = false;
  for (const Member& member : map_.members) {
    if (member.role != Role::kServer) continue;
    servers.push_back(member.node);
    host = host || (member.index == *options_.host_index && office_.IsFresh(member.node, now));
  }
  if (host) wanted_voters_ = office_.Wanted(servers, now, options_.uncovered_patience);
}

// A server votes from when it supports the coordinator; one that votes already keeps its vote while it is silent, so
// that a majority of the old voters has to know the map without it. One that leaves gives it up first: those that are
// released learn of no later map. One that is proven gone loses it at once, though it may have to stay a member until
// there is a majority again: the next coordinator learns from the map alone that it need not be asked.
void CoordinatorCore::AssignVotes(ShardMap& map) const {
  bool any = false;
  for (Member& member : map.members) {
    member.votes = member.role == Role::kServer && !member.leaving &&
                   ((office_.Votes(member.node) && !office_.IsExcluded(member.node)) ||
                    office_.IsFresh(member.node, now_));
    any = any || member.votes;
  }
  if (any && OfficeCounts() && office_.configured()) return;
  for (Member& member : map.members) member.votes = member.role == Role::kServer;
}

void CoordinatorCore::ConfigureOffice(const ShardMap& map) {
  if (OfficeCounts()) office_.Configure(VotersOf(map));
}

void CoordinatorCore::OnCommand(CommandId id, const ConfirmOffice& command, MonotonicTime, CoordinatorOutputs& out) {
  if (command.term != options_.term) {
    return Answer(id,
                  Error(StatusCode::kFailedPrecondition,
                        "a confirmation of term " + std::to_string(command.term) + " for the coordinator of term " +
                            std::to_string(options_.term)),
                  {}, out);
  }
  if (!command.voters.nodes.empty() && office_.Confirm(command.voters)) {
    out.events.push_back("the operator confirms the coordinator with " + std::to_string(command.voters.nodes.size()) +
                         " voters");
    CheckOffice(now_, out);
    return Answer(id, OkStatus(), {}, out);
  }
  Answer(id, Error(StatusCode::kFailedPrecondition, "the confirmation is older than the voters in force"), {}, out);
}

}  // namespace attune::ps
