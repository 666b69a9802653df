// What a coordinator that follows another one has learned from the members of the job, and what it has yet to learn
// before it may act (docs/protocol.md#another-coordinator): which map and which record are the newest, whether the
// lease of the coordinators before has ended, and who has not answered. What it does with that is the coordinator's
// part.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/time_source.h"
#include "ps/core/membership/leader_lease.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// A member of an earlier coordinator's time, as it has named itself.
struct PreviousMember {
  Join join;
  std::optional<ConnectionId> connection;
  std::optional<Promised> answer;
  MonotonicTime support_ends{};  // of all coordinators before, as the answer says
};
using PreviousMembers = std::map<NodeId, PreviousMember>;

// It has left, or was lost, before the record was made; else it came later.
bool WasRemovedBefore(const CoordinatorRecord& record, NodeId node);

class Takeover {
 public:
  struct Options {
    std::optional<uint32_t> host_index;  // of the server this coordinator runs in
    Duration leader_lease{};             // of the coordinators before
    // Silent members get so long, once no earlier coordinator leads; the other one when rows depend on them.
    Duration liveness_lease{}, uncovered_timeout{};
    Duration report_after{};
    std::optional<Voters> confirmed{};  // by the operator
    Mutations mutations{};
  };
  // Who is to be asked for a promise.
  struct Question {
    ConnectionId to;
    NodeId node;
    Role role = Role::kWorker;
  };
  // The newest that members have answered with. Valid until the next answer, or the end.
  struct Newest {
    const ShardMap& map;
    const CoordinatorRecord* record;  // nullptr: none was found
  };

  explicit Takeover(Options options) : options_(std::move(options)) {}

  // With its first step.
  void Begin(MonotonicTime now) { began_ = now; }
  // The platform has named the process, or only its role and index (`pod` 0), as gone.
  void NoteGone(Role role, uint32_t index, uint32_t pod, MonotonicTime now);
  void NoteClosed(ConnectionId connection);
  // Joining members ask again. One of them may be a member that had no map yet, or have taken a member's place: it is
  // recognized by the newest map.
  std::optional<Question> OnJoin(ConnectionId from, const Join& join);
  // Returns whose answer it is.
  std::vector<NodeId> OnPromised(ConnectionId from, const Promised& message, MonotonicTime now);
  // Servers, whose answers age, and workers that have not answered.
  std::vector<Question> ToAskAgain() const;

  // nullopt: there is no map, or the server this coordinator runs in has not answered. Others may be quicker, with a
  // map that is older than its joining and without the copy that it keeps.
  std::optional<Newest> FindNewest() const;
  // A node keeps its number only with a map, so members that had none yet come without: the map says which process each
  // of them is.
  std::vector<Question> Recognize(const ShardMap& map);
  // Servers that have an older map, and count as informed from now on: a server hears where the coordinator is from the
  // others, and those only from maps that it is there.
  std::vector<ConnectionId> PassOn(const ShardMap& map);
  // The old coordinator has declared this one's server lost meanwhile.
  std::optional<ConnectionId> LostHost(const ShardMap& map) const;
  // Who decides about the lease of the coordinators before: the voters that the newest map names, or those that the
  // operator has confirmed since.
  void Configure(const ShardMap& map, LeaderLease& lease);
  // Whether no coordinator before this one can be leading any more: at least half of the votes of each configuration
  // have promised to obey this one, and none of their support for earlier ones counts any longer. A strict majority of
  // each is what those would need, and one configuration they have in common (ps/core/membership/leader_lease.h).
  bool OldLeaseEnded(const Newest& newest, const std::vector<Voters>& configurations, MonotonicTime now) const;
  // Whether this coordinator leads, and no other one does.
  void NoteLeads(bool leads, MonotonicTime now);
  bool leads() const { return alone_since_ != kNever; }
  // Who is still to answer, of those who can, or what else is missing. Empty: it may act.
  std::string Missing(const Newest& newest, MonotonicTime now) const;
  // Whether what is missing is to be reported now.
  bool MayReport(MonotonicTime now);

  const Promised* AnswerOf(NodeId node) const;
  bool AnyServerAnswered(const ShardMap& map) const;
  const PreviousMembers& members() const { return members_; }
  // The map that the lease was configured by.
  MapVersion map_version() const { return map_version_; }
  // Nothing is asked any more.
  PreviousMembers End();

  // Time in which this process stood still.
  void SkipPause(Duration pause);

 private:
  bool HostHasAnswered() const;
  const ShardMap* NewestMap() const;
  const CoordinatorRecord* NewestRecord(const ShardMap& map) const;
  bool ProvenGone(const Member& member) const;
  bool IsProven(const Member& member) const;
  bool HasEnded(uint32_t term, const Newest& newest) const;
  bool OldLeaseEndedFor(const Voters& configuration, bool last_has_ended, const Newest& newest,
                        MonotonicTime now) const;
  bool IsCovered(const ShardMap& map) const;
  bool MayStillCome(NodeId host, MonotonicTime now) const;

  Options options_;
  PreviousMembers members_;
  // Without a number; by index and incarnation.
  std::map<std::tuple<Role, uint32_t, uint64_t>, PreviousMember> joining_;
  std::map<std::tuple<Role, uint32_t, uint32_t>, MonotonicTime> gone_;  // by pod; since when that is known
  MapVersion map_version_;
  MonotonicTime began_ = kNever;
  MonotonicTime alone_since_ = kNever;  // no other coordinator has been leading since
  MonotonicTime reported_at_ = kNever;
};

}  // namespace attune::ps
