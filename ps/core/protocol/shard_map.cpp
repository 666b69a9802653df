#include "ps/core/protocol/shard_map.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

const Member* ShardMap::Find(NodeId node) const {
  const auto it = std::ranges::lower_bound(members, node, {}, &Member::node);
  return it != members.end() && it->node == node ? &*it : nullptr;
}

const Member* ShardMap::FindVoter(NodeId node) const {
  if (const Member* member = Find(node)) return member;
  const auto it = std::ranges::lower_bound(former_voters, node, {}, &Member::node);
  return it != former_voters.end() && it->node == node ? &*it : nullptr;
}

MapVersion RoutedSince(const ShardMap& map) {
  MapVersion since = map.recovered_at;
  for (const Shard& shard : map.shards) since = std::max(since, shard.routing_since);
  return since;
}

std::vector<Shard> EvenShards(uint32_t shard_count, std::span<const NodeId> servers, bool backups, MapVersion since) {
  std::vector<Shard> shards(shard_count);
  const size_t count = servers.size();
  for (uint32_t i = 0; i < shard_count; ++i) {
    shards[i] = {.home = servers[i % count], .routing_since = since};
    if (backups && count > 1) shards[i].backup = servers[(i + 1 + (i / count) % (count - 1)) % count];
  }
  return shards;
}

bool NextHasAllOf(const ShardMap& map, const Shard& shard, std::span<const NodeId> failed) {
  return shard.next_was_home() && std::ranges::all_of(failed, [&](NodeId node) {
           if (node == NodeId() || node == shard.next_backup) return false;
           const Member* member = map.Find(node);
           return member == nullptr || member->role == Role::kServer || !member->takes_rows;
         });
}

namespace {

bool IsUncovered(const ShardMap& map, const Shard& shard, std::span<const NodeId> failed) {
  const auto is_gone = [&](NodeId node) { return node == NodeId() || std::ranges::find(failed, node) != failed.end(); };
  return is_gone(shard.home) && is_gone(shard.backup) && !NextHasAllOf(map, shard, failed);
}

}  // namespace

size_t CountUncovered(const ShardMap& map, std::span<const NodeId> failed) {
  return static_cast<size_t>(
      std::ranges::count_if(map.shards, [&](const Shard& shard) { return IsUncovered(map, shard, failed); }));
}

ShardMap WithoutFailed(const ShardMap& map, std::span<const NodeId> failed, std::span<const NodeId> without_tables) {
  const auto is_failed = [&](NodeId node) { return std::ranges::find(failed, node) != failed.end(); };
  const auto has_tables = [&](const Member& member) {
    return std::ranges::find(without_tables, member.node) == without_tables.end();
  };
  ShardMap next = map;
  next.version = map.version.Next();
  next.recovered_at = next.version;
  ++next.recoveries;
  std::erase_if(next.members, [&](const Member& member) { return is_failed(member.node); });
  std::vector<NodeId> servers;
  const auto choose = [&](auto fits) {
    for (const Member& member : next.members) {
      if (member.role == Role::kServer && fits(member)) servers.push_back(member.node);
    }
  };
  choose([&](const Member& member) { return !member.leaving && has_tables(member); });
  if (servers.empty()) choose(has_tables);
  if (servers.empty()) choose([](const Member&) { return true; });
  for (size_t i = 0; i < next.shards.size(); ++i) {
    Shard& shard = next.shards[i];
    const bool stays = NextHasAllOf(map, shard, failed);
    if (IsUncovered(map, shard, failed)) shard.uncovered_at = next.version;
    const NodeId joining = std::exchange(shard.next_backup, NodeId());
    shard.join_id = MapVersion();
    shard.routing_since = next.version;
    if (is_failed(shard.backup)) shard.backup = NodeId();
    if (is_failed(shard.home)) {
      const NodeId backup = std::exchange(shard.backup, NodeId());
      if (backup != NodeId()) {
        shard.home = backup;
      } else if (joining != NodeId() && !is_failed(joining)) {
        shard.home = joining;  // it has some of the copies, or all
      } else {
        shard.home = servers[i % servers.size()];
      }
    }
    if (stays && shard.home != joining) {
      shard.next_backup = joining;
      shard.join_id = next.version;
    }
  }
  return next;
}

namespace {

Status ValidateVoters(const ShardMap& map) {
  const auto bad = [](const std::string& what) {
    return Error(StatusCode::kInvalidArgument, "shard map refused: " + what);
  };
  if (map.voters.size() > kVoterSetsMax) {
    return bad(std::to_string(map.voters.size()) + " sets of voters, at most " + std::to_string(kVoterSetsMax) +
               " are allowed");
  }
  if (map.former_voters.size() > kMembersMax) {
    return bad(std::to_string(map.former_voters.size()) + " former voters, at most " + std::to_string(kMembersMax) +
               " are allowed");
  }
  NodeId last;
  for (const Member& former : map.former_voters) {
    if (former.node <= last || former.role != Role::kServer) return bad("former voters that are no servers in order");
    last = former.node;
  }
  MapVersion before;
  for (const Voters& voters : map.voters) {
    if (voters.map_version <= before || voters.map_version > map.version) return bad("voters that are out of order");
    before = voters.map_version;
    if (voters.nodes.empty() || voters.nodes.size() > kServersMax) {
      return bad(std::to_string(voters.nodes.size()) + " voters, 1 to " + std::to_string(kServersMax) +
                 " are possible");
    }
    if (voters.nodes[0] == NodeId() ||
        std::ranges::adjacent_find(voters.nodes, std::greater_equal()) != voters.nodes.end()) {
      return bad("voters are not in order of their node ids");
    }
    if (!voters.votes.empty() &&
        (voters.votes.size() != voters.nodes.size() || std::ranges::count(voters.votes, 0U) > 0)) {
      return bad("voters of which not every one has votes");
    }
  }
  return OkStatus();
}

}  // namespace

Status Validate(const ShardMap& map) {
  const auto bad = [](const std::string& what) {
    return Error(StatusCode::kInvalidArgument, "shard map refused: " + what);
  };
  if (!map.formed()) return bad("it has no version");
  if (map.recovered_at > map.version) return bad("it says that it will recover later");
  if (map.records_from >> 32 > map.version.term()) return bad("it counts on the state of a later coordinator");
  if (map.marked.value() >> 32 > map.version.term()) return bad("it has the mark of a later coordinator");
  if (map.shards.empty() || map.shards.size() > kShardsMax) {
    return bad(std::to_string(map.shards.size()) + " shards, allowed are 1 to " + std::to_string(kShardsMax));
  }
  if (map.members.size() > kMembersMax) {
    return bad(std::to_string(map.members.size()) + " members, at most " + std::to_string(kMembersMax) +
               " are allowed");
  }
  if (!map.members.empty() && map.members[0].node == NodeId()) return bad("a member is no node");
  for (size_t i = 1; i < map.members.size(); ++i) {
    if (map.members[i - 1].node >= map.members[i].node) return bad("members are not in order of their node ids");
  }
  RETURN_IF_ERROR(ValidateVoters(map));
  NodeId known;  // nodes repeat: look each up once in a row
  const auto is_server = [&](NodeId node) {
    if (node == known) return true;
    const Member* member = map.Find(node);
    if (member == nullptr || member->role != Role::kServer) return false;
    known = node;
    return true;
  };
  for (size_t i = 0; i < map.shards.size(); ++i) {
    const Shard& shard = map.shards[i];
    const auto bad_shard = [&](const char* what, NodeId node) {
      return bad("shard " + std::to_string(i) + ": " + what + " " + std::to_string(node.value()) +
                 " is not a server among the members, or has another part in this shard");
    };
    const bool has_backup = shard.backup != NodeId(), has_next = shard.next_backup != NodeId();
    if (!is_server(shard.home)) return bad_shard("home", shard.home);
    if (has_backup && (shard.backup == shard.home || !is_server(shard.backup)))
      return bad_shard("backup", shard.backup);
    if (has_next &&
        (shard.next_backup == shard.home || shard.next_backup == shard.backup || !is_server(shard.next_backup))) {
      return bad_shard("next backup", shard.next_backup);
    }
    if (std::max({shard.routing_since, shard.join_id, shard.uncovered_at}) > map.version) {
      return bad("shard " + std::to_string(i) + " changed in a later version");
    }
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
