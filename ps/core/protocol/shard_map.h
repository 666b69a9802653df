// Which server is home of which shard, which ones hold copies, and who is a member. A value: published whole by the
// coordinator, never edited in place by anyone else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

enum class Role : uint8_t { kServer, kWorker };
template <>
struct EnumNumbers<Role> {
  static constexpr uint32_t kFirst = 1;
  static constexpr Role kLast = Role::kWorker;
};

struct Member {
  NodeId node;
  Role role = Role::kWorker;
  uint32_t index = 0;        // within the role, as the platform numbers it
  std::string address;       // host:port of its data plane; empty: it has none
  bool leaving = false;      // homes call back the rows it holds; it is removed once it holds none
  bool takes_rows = false;   // a worker that may own rows (Localize); servers always may
  uint64_t incarnation = 0;  // of its process (Join): who comes back without a map is known by it
  std::string machine;       // of a server: where it runs, as the platform names it; empty: not known
  bool operator==(const Member&) const = default;
  bool may_own_rows() const { return takes_rows || role == Role::kServer; }
};
ATTUNE_FIELDS(Member, FIELD(node, Is::kNode), FIELD(role), FIELD(index), FIELD(address, AtMost(kNameBytesMax)),
              FIELD(leaving), FIELD(takes_rows), FIELD(incarnation), FIELD(machine, AtMost(kNameBytesMax)));

// One hash partition of the keys. A NodeId of 0 means none.
struct Shard {
  NodeId home;               // keeps the directory; owns every row that the directory does not name
  NodeId backup;             // holds a copy of every row of the shard, no matter who owns it
  NodeId next_backup;        // is being given copies; becomes the backup when they are complete
  MapVersion join_id;        // version that set next_backup
  MapVersion routing_since;  // last version that changed the home or recovered
  MapVersion uncovered_at;  // last recovery before which no server that was left had all of its rows; 0: there was none
  bool operator==(const Shard&) const = default;
  // The change that made next_backup what it is took the home from it. It has every row of the shard that no third
  // member owns, as its owner or as a copy (docs/protocol.md#planned-changes).
  bool next_was_home() const { return next_backup != NodeId() && join_id == routing_since; }
};
ATTUNE_FIELDS(Shard, FIELD_AS("homes", home), FIELD_AS("backups", backup), FIELD_AS("next_backups", next_backup),
              FIELD_AS("join_ids", join_id), FIELD(routing_since), FIELD(uncovered_at));

// Who decides about the coordinator's lease, from this map on (ps/core/membership/leader_lease.h).
struct Voters {
  MapVersion map_version;
  std::vector<NodeId> nodes;  // servers, ascending; some may be gone
  // How many votes each of them has, in that order; empty: one each.
  std::vector<uint32_t> votes = {};
  uint32_t VotesAt(size_t place) const { return votes.empty() ? 1 : votes[place]; }
  bool operator==(const Voters&) const = default;
};
ATTUNE_FIELDS(Voters, FIELD(map_version), FIELD(nodes, AtMost(kServersMax)), FIELD(votes, AtMost(kServersMax)));

struct ShardMap {
  MapVersion version;                 // 0: no map yet; shards are empty
  MapVersion recovered_at;            // last version that removed a failed node; 0: none did
  uint16_t recoveries = 0;            // how many did: the era of rows that a recovery rebuilds; wraps
  std::vector<Shard> shards;          // by ShardId; their number is fixed for the job
  std::vector<Member> members;        // ascending NodeId
  std::vector<Voters> voters;         // ascending versions; all but the last until a majority of each knows a newer map
  std::vector<Member> former_voters;  // ascending NodeId; those of `voters` that are members no more
  uint64_t records_from =
      0;  // copies of the coordinator's state of lower numbers are out of date: who has one drops it
  // The newest cut whose marks are complete. Who may own rows since a later map takes no part in that cut, and what it
  // is given is in a snapshot already: it has the mark from the map.
  CutId marked;

  uint32_t shard_count() const { return static_cast<uint32_t>(shards.size()); }
  bool formed() const { return version > MapVersion(); }
  // Requires formed().
  ShardId ShardOf(Key key) const { return ps::ShardId(ShardIndex(key, shard_count())); }
  const Shard& At(ShardId shard) const { return shards[shard.value()]; }
  NodeId HomeOf(Key key) const { return shards[ShardIndex(key, shard_count())].home; }

  // nullptr when not a member.
  const Member* Find(NodeId node) const;
  // nullptr when it is neither a member nor named among the voters.
  const Member* FindVoter(NodeId node) const;
  bool Contains(NodeId node) const { return Find(node) != nullptr; }
  // It is no member and will not be one: numbers rise, and a map has every member up to its newest one.
  bool IsPast(NodeId node) const { return !members.empty() && node < members.back().node && !Contains(node); }

  // SplitMix64 of the key, reduced by multiply-shift: uniform for any pattern of keys, and the same everywhere.
  static uint32_t ShardIndex(Key key, uint32_t shard_count) {
    return static_cast<uint32_t>((uint64_t{static_cast<uint32_t>(SplitMix64(key) >> 32)} * shard_count) >> 32);
  }

  bool operator==(const ShardMap&) const = default;
};
ATTUNE_FIELDS(ShardMap, FIELD(version), FIELD(recovered_at), FIELD(recoveries), Columns(&T::shards, kShardsMax),
              FIELD(members, AtMost(kMembersMax)), FIELD(voters, AtMost(kVoterSetsMax)),
              FIELD(former_voters, AtMost(kMembersMax)), FIELD(records_from), FIELD(marked));

// The last version that changed a home, or in which a recovery began.
MapVersion RoutedSince(const ShardMap& map);

// Deals the shards out to the servers in turn: sizes differ by at most one. With `backups`, and at least two servers,
// every shard gets a backup; those of one home are spread over all other servers. routing_since is `since`.
std::vector<Shard> EvenShards(uint32_t shard_count, std::span<const NodeId> servers, bool backups, MapVersion since);

// Whether a shard's rows that are lost with `failed` nodes are all at its next backup, which is none of them and was
// the home. Of what workers own it may lack copies; servers own no rows of shards that are homed elsewhere when a home
// begins to move.
bool NextHasAllOf(const ShardMap& map, const Shard& shard, std::span<const NodeId> failed);

// The shards whose home is among the `failed` and whose rows no other server has copies of. In the map of their
// recovery they are marked with its version (Shard::uncovered_at), for a node that has missed maps cannot know.
size_t CountUncovered(const ShardMap& map, std::span<const NodeId> failed);

// What recovery makes of a map when `failed` nodes are gone: the next version, without them; backups become homes;
// where there was none, a surviving server, and one of those `without_tables` only when there is no other: it could
// neither serve nor restore their rows. Joins of backups are cancelled, but for those for which NextHasAllOf holds:
// they begin again, so that it still holds. At least one server must survive.
ShardMap WithoutFailed(const ShardMap& map, std::span<const NodeId> failed,
                       std::span<const NodeId> without_tables = {});

// For maps received: versions, sizes, members and voters in order; every home, backup and next backup a server among
// the members, and three different ones.
Status Validate(const ShardMap& map);

// "server 1 (node 3, 127.0.0.1:7401)" for messages; "node 3" when it is not a member.
std::string Describe(const ShardMap& map, NodeId node);

}  // namespace attune::ps
