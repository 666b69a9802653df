// Which shards should move next so that they lie evenly on the servers that are wanted, with the fewest bytes moved.
//
// A pure function of the map of today: after the changes it returns are made, it is asked again, until it returns none.
// So nothing is lost when servers come, go or fail in between. Rules (docs/protocol.md#where-shards-lie): one change at
// a time per shard; a home never moves to its own backup, so where only that server is left the copy is given up first.
// A copy is kept on another machine than its home wherever there is one, for a machine takes all its servers along;
// even copies come second (docs/decisions/0045). A home that moves to the machine of its copy leaves one behind with
// the old home in the same change, so that no machine has all of the shard at any time (docs/decisions/0066).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

struct PlacementGoal {
  std::vector<NodeId> servers;  // that shards may lie on; any others are to be emptied. Not empty
  uint32_t backups = 0;         // copies of each shard, 0 or 1; none where there is one server only
  // What a shard weighs, by ShardId: its share of all bytes plus its share of all requests, in any unit; what one of
  // them counts beside the other is the caller's to say. Empty: equal.
  std::vector<double> weights;
  // Where servers run. One that is not named here, or with an empty name, counts as alone on its machine.
  std::map<NodeId, std::string> machines = {};
  // Servers differ by at most this share of the mean before shards are moved; what no move would make better is always
  // tolerated.
  double tolerance = 0.05;
  size_t changes_max = SIZE_MAX;  // returned at a time
  size_t homes_max = SIZE_MAX;    // a server that is home of so many shards is given no more for the sake of evenness
};

struct PlacementChange {
  enum class Kind : uint8_t {
    kMoveHome,    // to `to`
    kTradePlace,  // home to `to`, and the old home becomes the next backup
    kAddBackup,   // `to` is given copies (next_backup)
    kDropBackup,  // the copy is given up, `to` is unused
  };
  Kind kind = Kind::kMoveHome;
  ShardId shard;
  NodeId to;
  bool operator==(const PlacementChange&) const = default;
};

// Shards with a next_backup are left alone. Requires a formed map.
std::vector<PlacementChange> PlanPlacement(const ShardMap& map, const PlacementGoal& goal);

// The map of a job that has no rows yet, with all that the plan would do done at once. Requires a formed map.
ShardMap PlacedAtOnce(ShardMap map, const PlacementGoal& goal);

// The map with these changes, `version` being its new one. Members are not changed.
ShardMap WithChanges(const ShardMap& map, std::span<const PlacementChange> changes, MapVersion version);

}  // namespace attune::ps
