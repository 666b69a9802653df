// Who is connected with a server, and whom its map wants it to be connected with: servers keep links to each other,
// workers dial. Pure. Externally synchronized.
#pragma once

#include <set>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class ServerPeers {
 public:
  void Connected(NodeId peer) { connected_.insert(peer); }
  void Disconnected(NodeId peer) { connected_.erase(peer); }
  const std::set<NodeId>& connected() const { return connected_; }

  // Servers to connect to when `next` follows `map`.
  static std::vector<Member> ToConnect(const ShardMap& map, const ShardMap& next, NodeId self);
  // Members of `map` that `next` does not have.
  static std::vector<NodeId> Gone(const ShardMap& map, const ShardMap& next);
  // Servers of the map without a connection, kUnreachedMax at most.
  std::vector<NodeId> Unreached(const ShardMap& map, NodeId self) const;

 private:
  std::set<NodeId> connected_;
};

}  // namespace attune::ps
