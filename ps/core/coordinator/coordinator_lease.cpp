// When this coordinator may act: it asks all servers for their support, lets its grants end with its lease, and asks
// the operator to be confirmed where a majority is missing (docs/decisions/0029).
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

bool IsNamed(const std::vector<Voters>& sets, NodeId node) {
  return std::ranges::any_of(
      sets, [&](const Voters& voters) { return std::ranges::find(voters.nodes, node) != voters.nodes.end(); });
}

}  // namespace

SupportQuestion CoordinatorCore::AskForSupport(NodeId node, Role role) {
  if (role != Role::kServer || !LeaseCounts()) return {};
  return {.number = lease_.Ask(node, now_), .lasts = options_.leader_lease};
}

void CoordinatorCore::OnSupport(NodeId node, uint64_t number, MapVersion knows) {
  if (options_.mutations.support_counts_from_arrival && number != 0) number = lease_.Ask(node, now_);
  lease_.OnAnswer(node, number, knows);
}

// What a node is allowed to do ends with the lease that allows it.
Duration CoordinatorCore::GrantedLiveness(MonotonicTime now) const {
  if (!LeaseCounts() || options_.mutations.grants_outlast_the_lease) return options_.liveness_lease;
  if (!lease_.Held(now)) return Duration::zero();
  if (lease_.ends() == kNever) return options_.liveness_lease;
  return std::min(options_.liveness_lease, lease_.ends() - now);
}

void CoordinatorCore::CheckLease(MonotonicTime now, CoordinatorOutputs& out) {
  const bool suspended = !HoldsLease(now);
  if (suspended != std::exchange(suspended_, suspended)) {
    out.events.push_back(suspended
                             ? "the coordinator lacks the support of a majority of the servers; it suspends until "
                               "they are heard of, proven gone, or the operator confirms it"
                             : "a majority of the servers supports the coordinator; it continues");
  }
  WantConfirmation(now);
  if (suspended || !LeaseCounts() || !map_.formed()) return;
  const bool more =
      lease_.configurations().size() < kVoterSetsMax && std::ranges::any_of(map_.members, [&](const Member& member) {
        return member.role == Role::kServer && !member.leaving && !lease_.Votes(member.node) &&
               lease_.IsFresh(member.node, now);
      });
  // A successor needs no half of those that count no more, once it knows.
  const bool fewer = map_.voters != lease_.configurations();
  if (more || fewer) PublishMembers(out);
}

void CoordinatorCore::WantConfirmation(MonotonicTime now) {
  wanted_voters_.clear();
  if (!LeaseCounts() || !map_.formed() || IsFinished()) return;
  const bool host = std::ranges::any_of(
      map_.members, [&](const Member& member) { return IsHost(member) && lease_.IsFresh(member.node, now); });
  if (host) wanted_voters_ = lease_.Wanted(ServersToGoOnWith(map_), now, options_.uncovered_timeout);
  wanted_map_ = map_.version;
  ConfirmItself();
}

// The operator may record it late. A voter gives its vote up in a newer map before it is released, and a record
// for this one counts no more then: so none that counts names a server that has been released, whose end the platform
// could prove to no successor. One that leaves has given up its vote; the server that this coordinator runs in is not
// released.
std::vector<NodeId> CoordinatorCore::ServersToGoOnWith(const ShardMap& map) const {
  std::vector<NodeId> servers;
  for (const Member& member : map.members) {
    const bool stays = lease_.Votes(member.node) && !member.leaving;
    if (member.role == Role::kServer && (stays || IsHost(member))) servers.push_back(member.node);
  }
  return servers;
}

// Mutations.
void CoordinatorCore::ConfirmItself() {
  if (!options_.mutations.confirms_itself || wanted_voters_.empty()) return;
  lease_.Confirm({.map_version = wanted_map_, .nodes = wanted_voters_});
}

// A server votes from when it supports the coordinator; one that votes already keeps its vote while it is silent, so
// that a majority of the old voters has to know the map without it. One that leaves gives it up first: those that are
// released learn of no later map. One that is proven gone loses it at once, though it may have to stay a member until
// there is a majority again: the next coordinator learns from the map alone that it need not be asked.
void CoordinatorCore::AssignVotes(ShardMap& map) {
  map.voters.clear();
  if (!LeaseCounts()) return;
  std::vector<NodeId> servers, voters;
  for (const Member& member : map.members) {
    if (member.role != Role::kServer) continue;
    servers.push_back(member.node);
    if (member.leaving) continue;
    const bool keeps = lease_.Votes(member.node) && !lease_.IsExcluded(member.node);
    if (keeps || lease_.IsFresh(member.node, now_)) voters.push_back(member.node);
  }
  const bool first = voters.empty() || lease_.configurations().empty();
  std::map<NodeId, std::string> machines;
  for (const NodeId server : servers) machines[server] = nodes_.at(server).member.machine;
  lease_.Configure(WithVotes({.map_version = map.version, .nodes = first ? servers : voters}, machines));
  map.voters = lease_.configurations();
  std::erase_if(former_voters_, [&](const Member& former) { return !IsNamed(map.voters, former.node); });
  map.former_voters = former_voters_;
}

// Whether the map names it as one whose support counts.
bool CoordinatorCore::MayVote(NodeId node) const { return IsNamed(map_.voters, node); }

// A server that is a member no more, and that some set of voters names still: the platform may prove later that its
// process has ended.
void CoordinatorCore::KeepAsFormerVoter(const Member& server) {
  const auto place = std::ranges::lower_bound(former_voters_, server.node, {}, &Member::node);
  if (former_voters_.size() >= kMembersMax) return;
  former_voters_.insert(place, server);
}

void CoordinatorCore::ExcludeFormerVoter(const NodeGone& gone) {
  for (const Member& former : former_voters_) {
    if (gone.role != Role::kServer || former.index != gone.index || gone.pod == 0) continue;
    if (PodOf(former.incarnation) == gone.pod) lease_.Exclude(former.node);
  }
}

void CoordinatorCore::OnCommand(CommandId id, const ConfirmLeader& command, MonotonicTime, CoordinatorOutputs& out) {
  if (command.term != options_.term) {
    return Answer(
        id,
        Error(StatusCode::kFailedPrecondition, "a confirmation of term " + std::to_string(command.term) +
                                                   " for the coordinator of term " + std::to_string(options_.term)),
        {}, out);
  }
  if (!command.voters.nodes.empty() && lease_.Confirm(command.voters)) {
    out.events.push_back("the operator confirms the coordinator with " + std::to_string(command.voters.nodes.size()) +
                         " voters");
    CheckLease(now_, out);
    return Answer(id, OkStatus(), {}, out);
  }
  Answer(id, Error(StatusCode::kFailedPrecondition, "the confirmation is older than the voters in force"), {}, out);
}

}  // namespace attune::ps
