#include "ps/core/membership/cluster_view.h"

#include <utility>

namespace attune::ps {
namespace {

std::vector<NodeId> ServersOf(const ShardMap& map) {
  std::vector<NodeId> servers;
  for (const Member& member : map.members) {
    if (member.role == Role::kServer) servers.push_back(member.node);
  }
  return servers;
}

}  // namespace

ClusterView::Change ClusterView::Adopt(ShardMap map) {
  std::vector<NodeId> servers = ServersOf(map);
  Change change;
  change.homes_changed =
      !std::ranges::equal(map.shards, map_.shards, {}, &Shard::home, &Shard::home) || servers != servers_;
  change.server_gone = std::ranges::any_of(servers_, [&](NodeId server) { return !map.Contains(server); });
  change.recovered = map.recovered_at > map_.version;
  for (const Member& member : map_.members) {
    if (!map.Contains(member.node)) change.gone.push_back(member.node);
  }
  map_ = std::move(map);
  std::erase_if(connected_, [&](NodeId peer) { return peer != kCoordinator && !map_.Contains(peer); });
  if (!change.homes_changed) return change;
  homes_version_ = map_.version;
  servers_ = std::move(servers);
  home_places_.resize(map_.shards.size());
  for (size_t shard = 0; shard < map_.shards.size(); ++shard) {
    home_places_[shard] =
        static_cast<uint16_t>(std::ranges::lower_bound(servers_, map_.shards[shard].home) - servers_.begin());
  }
  return change;
}

void ClusterView::AskForNewerMap(MonotonicTime now, std::vector<Outgoing>& send) {
  if (!IsConnected(kCoordinator) || now < asked_ + ask_again_after_) return;
  asked_ = now;
  send.push_back({.to = kCoordinator, .message = MapRequest{.have = map_.version}});
}

NodeId ClusterView::ServerNotConnected() const {
  const auto server = std::ranges::find_if(servers_, [&](NodeId node) { return !IsConnected(node); });
  return server == servers_.end() ? NodeId() : *server;
}

}  // namespace attune::ps
