#include "ps/core/server/server_peers.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "ps/core/protocol/limits.h"

namespace attune::ps::server_peers_test {
namespace {

constexpr NodeId kSelf{1}, kServer{2}, kNewServer{3}, kWorker{9};

ShardMap MapOf(std::initializer_list<NodeId> nodes) {
  ShardMap map;
  for (const NodeId node : nodes) {
    map.members.push_back({.node = node, .role = node == kWorker ? Role::kWorker : Role::kServer});
  }
  return map;
}

TEST(ServerPeers, ServersAreConnectedToWhenTheyComeAndWorkersDial) {
  const ShardMap before = MapOf({kSelf, kServer}), after = MapOf({kSelf, kServer, kNewServer, kWorker});
  const std::vector<Member> servers = ServerPeers::ToConnect(before, after, kSelf);
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers[0].node, kNewServer);
  EXPECT_EQ(ServerPeers::ToConnect(ShardMap(), after, kSelf).size(), 2U) << "all of the first map, but not itself";
  EXPECT_EQ(ServerPeers::Gone(after, before), (std::vector<NodeId>{kNewServer, kWorker}));
}

TEST(ServerPeers, ServersWithoutAConnectionAreUnreached) {
  const ShardMap map = MapOf({kSelf, kServer, kNewServer, kWorker});
  ServerPeers peers;
  EXPECT_EQ(peers.Unreached(map, kSelf), (std::vector<NodeId>{kServer, kNewServer}));
  peers.Connected(kServer);
  EXPECT_EQ(peers.Unreached(map, kSelf), (std::vector<NodeId>{kNewServer}));
  peers.Disconnected(kServer);
  EXPECT_EQ(peers.Unreached(map, kSelf).size(), 2U);
}

TEST(ServerPeers, NoMoreAreNamedThanAMessageHolds) {
  ShardMap map;
  for (uint32_t node = 1; node <= kUnreachedMax + 2; ++node) {
    map.members.push_back({.node = NodeId(node), .role = Role::kServer});
  }
  EXPECT_EQ(ServerPeers().Unreached(map, kSelf).size(), kUnreachedMax);
}

}  // namespace
}  // namespace attune::ps::server_peers_test
