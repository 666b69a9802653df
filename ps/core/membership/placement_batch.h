// One batch of changes to where shards lie at a time: the next when all copies of the last one are made and its rows
// have come home. That bounds what moves are in progress, so that training continues
// (docs/protocol.md#where-shards-lie). Pure functions of the map and of what members report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ps/core/membership/link_watch.h"
#include "ps/core/membership/members/member_table.h"
#include "ps/core/membership/placement_planner.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// The next map, in which copies that all members have completed are backups; nullopt: there are none.
std::optional<ShardMap> WithCompletedBackups(const ShardMap& map, const MemberTable& members);
// Rows are still on their way to their homes, or copies are being made.
bool IsChanging(const ShardMap& map, const MemberTable& members);
// All members know of it, and no link between it and them is missing.
bool IsReachedByAll(NodeId joining, const ShardMap& map, const MemberTable& members, const LinkWatch& links);
// Who is to have shards: servers that stay and have some, or may be given some (`may_be_used`).
std::vector<NodeId> EligibleServers(const ShardMap& map, const MemberTable& members,
                                    const std::function<bool(NodeId)>& may_be_used);
// With the machines of all servers, which homes and copies are kept apart by: also of those that are to be emptied, for
// a copy stays there until another one is complete.
PlacementGoal GoalOf(std::vector<NodeId> servers, uint32_t backups, const MemberTable& members);
// How many shards may be changed at once: more where they hold fewer rows than `rows_max` together, by what members
// hold under the newest map, which they report before anything is changed under it.
size_t BatchSize(const ShardMap& map, const MemberTable& members, size_t shards_max, uint64_t rows_max);

}  // namespace attune::ps
