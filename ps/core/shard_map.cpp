#include "ps/core/shard_map.h"

#include <algorithm>

#include "ps/core/limits.h"

namespace attune::ps {

const Member* ShardMap::Find(NodeId node) const {
  const auto it = std::ranges::lower_bound(members, node, {}, &Member::node);
  return it != members.end() && it->node == node ? &*it : nullptr;
}

std::vector<NodeId> EvenHomes(uint32_t shard_count, std::span<const NodeId> servers) {
  std::vector<NodeId> homes(shard_count);
  for (uint32_t shard = 0; shard < shard_count; ++shard) homes[shard] = servers[shard % servers.size()];
  return homes;
}

Status Validate(const ShardMap& map) {
  const auto bad = [](const std::string& what) {
    return Error(StatusCode::kInvalidArgument, "shard map refused: " + what);
  };
  if (!map.formed()) return bad("it has no version");
  if (map.homes.empty() || map.homes.size() > kShardsMax) {
    return bad(std::to_string(map.homes.size()) + " shards, allowed are 1 to " + std::to_string(kShardsMax));
  }
  if (map.members.size() > kMembersMax) {
    return bad(std::to_string(map.members.size()) + " members, at most " + std::to_string(kMembersMax) +
               " are allowed");
  }
  for (size_t i = 1; i < map.members.size(); ++i) {
    if (map.members[i - 1].node >= map.members[i].node) return bad("members are not in order of their node ids");
  }
  NodeId known;  // homes repeat: look each up once in a row
  for (const NodeId home : map.homes) {
    if (home == known) continue;
    const Member* member = map.Find(home);
    if (member == nullptr || member->role != Role::kServer) {
      return bad("home " + std::to_string(home.value()) + " is not a server among the members");
    }
    known = home;
  }
  return OkStatus();
}

std::string Describe(const ShardMap& map, NodeId node) {
  if (node == kCoordinator) return "the coordinator";
  const Member* member = map.Find(node);
  if (member == nullptr) return "node " + std::to_string(node.value());
  std::string text = member->role == Role::kServer ? "server " : "worker ";
  text += std::to_string(member->index) + " (node " + std::to_string(node.value());
  if (!member->address.empty()) text += ", " + member->address;
  return text + ")";
}

}  // namespace attune::ps
