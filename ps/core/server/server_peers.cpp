#include "ps/core/server/server_peers.h"

#include "ps/core/protocol/limits.h"

namespace attune::ps {

std::vector<Member> ServerPeers::ToConnect(const ShardMap& map, const ShardMap& next, NodeId self) {
  std::vector<Member> servers;
  for (const Member& member : next.members) {
    if (member.role == Role::kServer && member.node != self && !map.Contains(member.node)) servers.push_back(member);
  }
  return servers;
}

std::vector<NodeId> ServerPeers::Gone(const ShardMap& map, const ShardMap& next) {
  std::vector<NodeId> gone;
  for (const Member& member : map.members) {
    if (!next.Contains(member.node)) gone.push_back(member.node);
  }
  return gone;
}

std::vector<NodeId> ServerPeers::Unreached(const ShardMap& map, NodeId self) const {
  std::vector<NodeId> unreached;
  for (const Member& member : map.members) {
    const bool should_be_linked = member.role == Role::kServer && member.node != self;
    if (should_be_linked && !connected_.contains(member.node) && unreached.size() < kUnreachedMax) {
      unreached.push_back(member.node);
    }
  }
  return unreached;
}

}  // namespace attune::ps
