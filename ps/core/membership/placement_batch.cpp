#include "ps/core/membership/placement_batch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ps/core/membership/members/row_reports.h"

namespace attune::ps {

std::optional<ShardMap> WithCompletedBackups(const ShardMap& map, const MemberTable& members) {
  ShardMap next = map;
  next.version = map.version.Next();
  std::map<MapVersion, bool> done;
  bool any = false;
  for (Shard& shard : next.shards) {
    if (shard.next_backup == NodeId()) continue;
    const auto [it, is_new] = done.try_emplace(shard.join_id, false);
    if (is_new) {
      it->second = std::ranges::all_of(members, [&](const auto& entry) {
        const MemberState& member = entry.second;
        return !member.reports() ||
               std::ranges::find(member.rows->joins_done, shard.join_id) != member.rows->joins_done.end();
      });
    }
    if (!it->second) continue;
    shard.backup = std::exchange(shard.next_backup, NodeId());
    shard.join_id = MapVersion();
    any = true;
  }
  return any ? std::optional(std::move(next)) : std::nullopt;
}

bool IsChanging(const ShardMap& map, const MemberTable& members) {
  const auto copied = [](const Shard& shard) { return shard.next_backup != NodeId(); };
  const RowTotals rows = RowsOfAll(members);
  return std::ranges::any_of(map.shards, copied) || rows.to_come > 0 || rows.foreign > 0;
}

bool IsReachedByAll(NodeId joining, const ShardMap& map, const MemberTable& members, const LinkWatch& links) {
  if (!links.HasAllLinks(joining)) return false;
  return std::ranges::all_of(members, [&](const auto& entry) {
    const MemberState& member = entry.second;
    return entry.first == joining || member.lost || member.last.map_version >= map.version;
  });
}

std::vector<NodeId> EligibleServers(const ShardMap& map, const MemberTable& members,
                                    const std::function<bool(NodeId)>& may_be_used) {
  std::vector<NodeId> servers;
  for (const auto& [node, member] : members) {
    const NodeId id = node;
    if (!member.is_server() || member.member.leaving || member.lost) continue;
    const bool in_use =
        std::ranges::any_of(map.shards, [&](const Shard& shard) { return shard.home == id || shard.backup == id; });
    if (in_use || may_be_used(id)) servers.push_back(id);
  }
  return servers;
}

PlacementGoal GoalOf(std::vector<NodeId> servers, uint32_t backups, const MemberTable& members) {
  PlacementGoal goal{.servers = std::move(servers), .backups = backups, .weights = {}};
  for (const auto& [id, member] : members) {
    if (member.is_server()) goal.machines[id] = member.member.machine;
  }
  return goal;
}

size_t BatchSize(const ShardMap& map, const MemberTable& members, size_t shards_max, uint64_t rows_max) {
  const uint64_t per_shard = std::max<uint64_t>(RowsOfAll(members).held / map.shards.size(), 1);
  return std::max<size_t>(shards_max, rows_max / per_shard);
}

}  // namespace attune::ps
