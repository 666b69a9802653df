// Since when the members of a job have been silent, and for whom that is long enough to count as lost; also by the
// platform's word that a process is gone. What each member's silence is counted from stands with the member
// (MemberState::silent_since); who of the silent is declared lost is the coordinator's to decide.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/time_source.h"
#include "ps/core/membership/members/member_table.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class SilenceWatch {
 public:
  struct Options {
    // A member that has been silent for so long can have no lease any more.
    Duration liveness_lease{};
    // One whose rows have no copy elsewhere is waited for so long.
    Duration uncovered_timeout{};
    // While none is heard for longer it may be the coordinator that is cut off.
    Duration pause_tolerance{};
  };

  // `members` outlives it.
  SilenceWatch(MemberTable& members, const Options& options) : members_(members), options_(options) {}

  // Returns the time that is forgiven all members: while no other member at all is heard it is this process that is cut
  // off, or its machine that starves, and those that come back a moment later than the first have been no more silent
  // than that one. Each such gap counts as `pause_tolerance` of silence, for where only a worker that comes and goes is
  // heard now and then there is a gap before each time, and one that has died would never be lost. `is_host`: the
  // server that the coordinator runs in, which it always hears.
  Duration NoteHeard(MemberState& member, bool is_host, MonotonicTime now);
  // What no member could have said, or this process could not have heard, for so long is no evidence against any
  // member.
  void Forgive(Duration time, MonotonicTime now);
  // This process has stood still.
  void SkipPause(Duration pause, MonotonicTime now);

  // The platform's word: a process of this role and index is gone, of pod `pod` (0: not known). With its connection
  // there, or without a word which process it was, it may live: it has to be silent, too. True when it is a member.
  bool NoteSaidGone(Role role, uint32_t index, uint32_t pod, MonotonicTime now);
  // Whose end counts by that word: nothing has been heard for a moment, for a heartbeat meanwhile says that the word
  // was about another process.
  std::vector<NodeId> SaidGone(MonotonicTime now) const;

  struct Silent {
    std::set<NodeId> all;
    std::set<NodeId> lost;  // those of them that need not be waited for any longer
  };
  Silent FindSilent(const ShardMap& map, MonotonicTime now) const;
  // Rows would go back to a checkpoint, or be reinitialized: the server, or the worker, has some that no other server
  // that is heard of keeps a copy of.
  bool WouldCostRows(const MemberState& lost, const ShardMap& map, MonotonicTime now) const;

 private:
  MemberTable& members_;
  const Options options_;
  MonotonicTime others_heard_ = kNever;  // when any member but the coordinator's own server was last heard
};

}  // namespace attune::ps
