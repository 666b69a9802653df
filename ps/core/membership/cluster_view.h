// What a worker knows of its job's nodes: its own number, the newest map, the home of each key as a place among the
// servers, and which nodes it is connected to. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class ClusterView {
 public:
  // What another map has changed.
  struct Change {
    std::vector<NodeId> gone;    // members of the map before it, and not of this one
    bool homes_changed = false;  // or the servers themselves
    bool server_gone = false;
    bool recovered = false;  // a node failed since the map before it
  };

  // The coordinator is asked for a newer map at most once in `ask_again_after`.
  explicit ClusterView(Duration ask_again_after = std::chrono::seconds(2)) : ask_again_after_(ask_again_after) {}

  // --- this node; 0 before the coordinator has admitted it

  NodeId self() const { return self_; }
  bool admitted() const { return self_ != NodeId(); }
  void SetSelf(NodeId self) { self_ = self; }

  // --- the map

  const ShardMap& map() const { return map_; }
  bool formed() const { return map_.formed(); }
  // `map` must be newer and valid, and have as many shards as the one before it.
  Change Adopt(ShardMap map);
  // Another node has a newer one.
  void AskForNewerMap(MonotonicTime now, std::vector<Outgoing>& send);
  const std::vector<NodeId>& servers() const { return servers_; }                       // ascending
  NodeId only_server() const { return servers_.size() == 1 ? servers_[0] : NodeId(); }  // 0: there are others, or none
  bool IsServer(NodeId node) const { return std::ranges::binary_search(servers_, node); }
  // The version in which homes or servers changed last.
  MapVersion homes_version() const { return homes_version_; }
  // The place of the key's home in servers(). Requires formed().
  uint16_t HomePlace(Key key) const {
    return home_places_[ShardMap::ShardIndex(key, static_cast<uint32_t>(home_places_.size()))];
  }

  // --- connections

  void SetConnected(NodeId peer) { connected_.insert(peer); }
  void SetDisconnected(NodeId peer) { connected_.erase(peer); }
  bool IsConnected(NodeId peer) const { return connected_.contains(peer); }
  // A server without a connection; 0: there is none.
  NodeId ServerNotConnected() const;

 private:
  Duration ask_again_after_;
  NodeId self_;
  ShardMap map_;
  std::vector<NodeId> servers_;
  std::vector<uint16_t> home_places_;  // by shard
  MapVersion homes_version_;
  std::set<NodeId> connected_;
  MonotonicTime asked_{};  // for a newer map
};

}  // namespace attune::ps
