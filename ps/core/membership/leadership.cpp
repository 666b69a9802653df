#include "ps/core/membership/leadership.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

bool IsNamed(const std::vector<Voters>& sets, NodeId node) {
  return std::ranges::any_of(
      sets, [&](const Voters& voters) { return std::ranges::find(voters.nodes, node) != voters.nodes.end(); });
}

}  // namespace

Duration Leadership::GrantedLiveness(MonotonicTime now) const {
  if (!Counts() || options_.mutations.grants_outlast_the_lease) return options_.liveness_lease;
  if (!lease_.Held(now)) return Duration::zero();
  if (lease_.ends() == kNever) return options_.liveness_lease;
  return std::min(options_.liveness_lease, lease_.ends() - now);
}

std::optional<bool> Leadership::NoteHeld(MonotonicTime now) {
  const bool suspended = !Held(now);
  if (suspended == std::exchange(suspended_, suspended)) return std::nullopt;
  return !suspended;
}

SupportQuestion Leadership::Ask(NodeId node, Role role, MonotonicTime now) {
  if (role != Role::kServer || !Counts()) return {};
  return {.number = lease_.Ask(node, now), .lasts = options_.leader_lease};
}

void Leadership::OnSupport(NodeId node, uint64_t number, MapVersion knows, MonotonicTime now) {
  if (options_.mutations.support_counts_from_arrival && number != 0) number = lease_.Ask(node, now);
  lease_.OnAnswer(node, number, knows);
}

bool Leadership::MayVote(NodeId node, const ShardMap& map) { return IsNamed(map.voters, node); }

const MemberState* Leadership::MirrorHost(const MemberTable& members, const ShardMap& map) const {
  if (!Counts() || !map.formed()) return nullptr;
  const auto here = std::ranges::find_if(members, [&](const auto& entry) { return IsHost(entry.second.member); });
  const std::string machine = here == members.end() ? "" : here->second.member.machine;  // "": not known
  const auto rank = [&](const Member& of) {
    const bool votes = std::ranges::all_of(lease_.configurations(), [&](const Voters& voters) {
      return std::ranges::find(voters.nodes, of.node) != voters.nodes.end();
    });
    const bool is_here = !machine.empty() && of.machine == machine;
    return std::tuple(!votes, is_here, of.leaving, of.index);
  };
  const MemberState* host = nullptr;
  for (const auto& [id, member] : members) {
    if (!member.is_server() || member.lost || IsHost(member.member)) continue;
    if (host == nullptr || rank(member.member) < rank(host->member)) host = &member;
  }
  return host;
}

bool Leadership::NeedsOtherVoters(const ShardMap& map, MonotonicTime now) const {
  if (!Counts()) return false;
  const bool more =
      lease_.configurations().size() < kVoterSetsMax && std::ranges::any_of(map.members, [&](const Member& member) {
        return member.role == Role::kServer && !member.leaving && !lease_.Votes(member.node) &&
               lease_.IsFresh(member.node, now);
      });
  return more || map.voters != lease_.configurations();
}

// A server votes from when it supports the coordinator; one that votes already keeps its vote while it is silent, so
// that a majority of the old voters has to know the map without it. One that leaves gives it up first: those that are
// released learn of no later map. One that is proven gone loses it at once, though it may have to stay a member until
// there is a majority again: the next coordinator learns from the map alone that it need not be asked.
void Leadership::AssignVotes(ShardMap& map, MonotonicTime now) {
  map.voters.clear();
  if (!Counts()) return;
  std::vector<NodeId> servers, voters;
  std::map<NodeId, std::string> machines;
  for (const Member& member : map.members) {
    if (member.role != Role::kServer) continue;
    servers.push_back(member.node);
    machines[member.node] = member.machine;
    if (member.leaving) continue;
    const bool keeps = lease_.Votes(member.node) && !lease_.IsExcluded(member.node);
    if (keeps || lease_.IsFresh(member.node, now)) voters.push_back(member.node);
  }
  const bool first = voters.empty() || lease_.configurations().empty();
  lease_.Configure(WithVotes({.map_version = map.version, .nodes = first ? servers : voters}, machines));
  map.voters = lease_.configurations();
  std::erase_if(former_voters_, [&](const Member& former) { return !IsNamed(map.voters, former.node); });
  map.former_voters = former_voters_;
}

void Leadership::NoteGone(const Member& member, const ShardMap& map) {
  if (MayVote(member.node, map)) KeepAsFormerVoter(member);
  lease_.Forget(member.node);
}

void Leadership::KeepAsFormerVoter(const Member& server) {
  const auto place = std::ranges::lower_bound(former_voters_, server.node, {}, &Member::node);
  if (former_voters_.size() >= kMembersMax) return;
  former_voters_.insert(place, server);
}

void Leadership::ExcludeFormerVoter(Role role, uint32_t index, uint32_t pod) {
  for (const Member& former : former_voters_) {
    if (role != Role::kServer || former.index != index || pod == 0) continue;
    if (PodOf(former.incarnation) == pod) lease_.Exclude(former.node);
  }
}

void Leadership::WantConfirmation(const ShardMap& map, bool finished, MonotonicTime now) {
  wanted_voters_.clear();
  if (!Counts() || !map.formed() || finished) return;
  const bool host = std::ranges::any_of(
      map.members, [&](const Member& member) { return IsHost(member) && lease_.IsFresh(member.node, now); });
  if (host) wanted_voters_ = lease_.Wanted(ServersToGoOnWith(map), now, options_.uncovered_timeout);
  wanted_map_ = map.version;
  ConfirmItself();
}

void Leadership::WantConfirmationOfTakeover(const ShardMap& map, bool old_lease_ended,
                                            const std::function<bool(NodeId)>& has_answered, MonotonicTime now) {
  wanted_voters_.clear();
  if (!Counts() || !old_lease_ended) return;
  std::vector<NodeId> servers = ServersToGoOnWith(map);
  std::erase_if(servers, [&](NodeId node) { return !has_answered(node); });
  wanted_voters_ = lease_.Wanted(servers, now, options_.uncovered_timeout);
  wanted_map_ = map.version;
  ConfirmItself();
}

// The operator may record it late. A voter gives its vote up in a newer map before it is released, and a record
// for this one counts no more then: so none that counts names a server that has been released, whose end the platform
// could prove to no successor. One that leaves has given up its vote; the server that this coordinator runs in is not
// released.
std::vector<NodeId> Leadership::ServersToGoOnWith(const ShardMap& map) const {
  std::vector<NodeId> servers;
  for (const Member& member : map.members) {
    const bool stays = lease_.Votes(member.node) && !member.leaving;
    if (member.role == Role::kServer && (stays || IsHost(member))) servers.push_back(member.node);
  }
  return servers;
}

// Mutations.
void Leadership::ConfirmItself() {
  if (!options_.mutations.confirms_itself || wanted_voters_.empty()) return;
  lease_.Confirm({.map_version = wanted_map_, .nodes = wanted_voters_});
}

}  // namespace attune::ps
