// Whether the coordinator leads the job, and by whose votes (docs/decisions/0029): it asks all servers for their
// support, lets what it grants end with its lease, decides who votes by the next map, and names with whom it is to be
// confirmed where a majority is missing. The arithmetic of votes and answers is that of its lease
// (ps/core/membership/leader_lease.h).
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/membership/leader_lease.h"
#include "ps/core/membership/members/member_table.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class Leadership {
 public:
  struct Options {
    uint32_t term = 1;
    bool may_be_followed = true;         // else it leads without any lease
    std::optional<uint32_t> host_index;  // of the server it runs in; without one, too
    Duration leader_lease{}, liveness_lease{};
    Duration uncovered_timeout{};  // a majority is missing: then half is enough to ask for a confirmation
    Mutations mutations{};
  };

  explicit Leadership(const Options& options)
      : options_(options), lease_(options.term, options.leader_lease, options.mutations.half_is_a_majority) {}

  // --- the lease

  bool Held(MonotonicTime now) const { return !Counts() || lease_.Held(now); }
  // Whether these can be declared lost.
  bool MayLose(const std::set<NodeId>& silent, MonotonicTime now) const {
    return !Counts() || lease_.HeldWithout(silent, now);
  }
  bool HasHalfOfTheVotes(NodeId server) const { return lease_.HasHalfOfTheVotes(server); }
  // What a node is allowed to do ends with the lease that allows it.
  Duration GrantedLiveness(MonotonicTime now) const;
  // When that it leads has changed since the last call: whether it does.
  std::optional<bool> NoteHeld(MonotonicTime now);
  bool suspended() const { return suspended_; }

  SupportQuestion Ask(NodeId node, Role role, MonotonicTime now);
  void OnSupport(NodeId node, uint64_t number, MapVersion knows, MonotonicTime now);
  // The newest map that the node has said to have.
  void Knows(NodeId node, MapVersion map) { lease_.Knows(node, map); }
  bool Exclude(NodeId server) { return lease_.Exclude(server); }
  // The operator has recorded it. False: older than what is in force.
  bool Confirm(const Voters& voters) { return lease_.Confirm(voters); }
  // Of the lease that a takeover is decided by.
  LeaderLease& lease() { return lease_; }
  const std::vector<Voters>& configurations() const { return lease_.configurations(); }

  // --- voters

  // The server that this coordinator runs in.
  bool IsHost(const Member& member) const {
    return member.role == Role::kServer && member.index == options_.host_index;
  }
  // Whether the map names it as one whose support counts.
  static bool MayVote(NodeId node, const ShardMap& map);
  // Who is to have the copy of the coordinator's record: the first other server by index that every majority counts
  // which may decide for the next coordinator; one on this machine, which may be lost as a whole, and one that leaves
  // only when there is no other. Of a server that has just joined a successor may not have heard. nullptr: no server
  // can.
  const MemberState* MirrorHost(const MemberTable& members, const ShardMap& map) const;
  // The next map is to name others: more that support the coordinator, or fewer, because a successor needs no half of
  // those that count no more.
  bool NeedsOtherVoters(const ShardMap& map, MonotonicTime now) const;
  // By the members of the map, which is to be published.
  void AssignVotes(ShardMap& map, MonotonicTime now);
  // A member is none any more. If it is a voter the platform may prove later that its process has ended.
  void NoteGone(const Member& member, const ShardMap& map);
  void KeepAsFormerVoter(const Member& server);
  // The platform has named this process as gone.
  void ExcludeFormerVoter(Role role, uint32_t index, uint32_t pod);
  const std::vector<Member>& former_voters() const { return former_voters_; }
  void RestoreFormerVoters(std::vector<Member> voters) { former_voters_ = std::move(voters); }

  // --- confirmation by the operator

  // With whom to continue, for want of a majority; `finished`: none is needed any more.
  void WantConfirmation(const ShardMap& map, bool finished, MonotonicTime now);
  // While it takes over, only once no earlier coordinator can be leading: what the operator records stands for all of
  // them from then on. With those who have answered.
  void WantConfirmationOfTakeover(const ShardMap& map, bool old_lease_ended,
                                  const std::function<bool(NodeId)>& has_answered, MonotonicTime now);
  const std::vector<NodeId>& wanted() const { return wanted_voters_; }
  // Of the map that they were chosen by.
  MapVersion wanted_map() const { return wanted_map_; }

 private:
  bool Counts() const { return options_.may_be_followed && options_.host_index.has_value(); }
  std::vector<NodeId> ServersToGoOnWith(const ShardMap& map) const;
  void ConfirmItself();

  Options options_;
  LeaderLease lease_;
  std::vector<Member> former_voters_;  // ascending NodeId, as in the map
  std::vector<NodeId> wanted_voters_;
  MapVersion wanted_map_;
  bool suspended_ = false;  // without the lease: another coordinator may be at work
};

}  // namespace attune::ps
