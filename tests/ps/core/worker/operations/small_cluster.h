// A map of two servers, two shards and two workers, for tests of what a worker does by its map.
#pragma once

#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

inline constexpr NodeId kFirstServer{1}, kSecondServer{2}, kWorker{3}, kOtherWorker{4};

inline ShardMap SmallMap(uint32_t version = 1) {
  ShardMap map;
  map.version = MapVersion(1, version);
  map.shards = {{.home = kFirstServer}, {.home = kSecondServer}};
  map.members = {{.node = kFirstServer, .role = Role::kServer},
                 {.node = kSecondServer, .role = Role::kServer},
                 {.node = kWorker, .role = Role::kWorker},
                 {.node = kOtherWorker, .role = Role::kWorker, .takes_rows = true}};
  return map;
}

// As the first worker sees it, connected to all.
inline ClusterView SmallCluster() {
  ClusterView cluster;
  cluster.SetSelf(kWorker);
  cluster.Adopt(SmallMap());
  for (const Member& member : cluster.map().members) cluster.SetConnected(member.node);
  return cluster;
}

// The `number`-th key whose home is this server.
inline Key KeyAt(NodeId home, size_t number = 0) {
  const ShardMap map = SmallMap();
  Key key = 0;
  while (map.HomeOf(key) != home || number-- > 0) ++key;
  return key;
}

}  // namespace attune::ps
