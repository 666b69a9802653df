#include "ps/core/membership/cluster_view.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

namespace attune::ps::cluster_view_test {
namespace {

constexpr NodeId kFirst{1}, kSecond{2}, kSelf{3}, kThird{4};

ShardMap Map(uint32_t version, std::vector<NodeId> servers, std::vector<NodeId> homes) {
  ShardMap map;
  map.version = MapVersion(1, version);
  for (const NodeId home : homes) map.shards.push_back({.home = home});
  for (const NodeId server : servers) map.members.push_back({.node = server, .role = Role::kServer});
  map.members.push_back({.node = kSelf, .role = Role::kWorker});
  std::ranges::sort(map.members, {}, &Member::node);
  return map;
}

Key KeyOfShard(uint32_t shard, uint32_t shards) {
  Key key = 0;
  while (ShardMap::ShardIndex(key, shards) != shard) ++key;
  return key;
}

TEST(ClusterView, TheHomeOfAKeyIsAPlaceAmongTheServers) {
  ClusterView view;
  const auto change = view.Adopt(Map(1, {kFirst, kSecond, kThird}, {kThird, kFirst}));
  EXPECT_TRUE(change.homes_changed);
  EXPECT_FALSE(change.server_gone);
  EXPECT_EQ(view.servers(), (std::vector<NodeId>{kFirst, kSecond, kThird}));
  EXPECT_EQ(view.HomePlace(KeyOfShard(0, 2)), 2U);
  EXPECT_EQ(view.HomePlace(KeyOfShard(1, 2)), 0U);
  EXPECT_TRUE(view.IsServer(kSecond));
  EXPECT_FALSE(view.IsServer(kSelf));
}

TEST(ClusterView, AMapWithTheSameHomesAndServersKeepsTheirVersion) {
  ClusterView view;
  view.Adopt(Map(1, {kFirst, kSecond}, {kFirst, kSecond}));
  const auto change = view.Adopt(Map(2, {kFirst, kSecond}, {kFirst, kSecond}));
  EXPECT_FALSE(change.homes_changed);
  EXPECT_EQ(view.homes_version(), MapVersion(1, 1));
  EXPECT_EQ(view.map().version, MapVersion(1, 2));
  EXPECT_TRUE(view.Adopt(Map(3, {kFirst, kSecond}, {kSecond, kSecond})).homes_changed);
  EXPECT_EQ(view.homes_version(), MapVersion(1, 3));
  EXPECT_TRUE(view.Adopt(Map(4, {kFirst, kSecond, kThird}, {kSecond, kSecond})).homes_changed)
      << "a server without shards is one that pulls may be sent to";
}

TEST(ClusterView, AServerThatIsGoneIsNamedAndItsConnectionForgotten) {
  ClusterView view;
  view.Adopt(Map(1, {kFirst, kSecond}, {kFirst, kSecond}));
  view.SetConnected(kFirst);
  view.SetConnected(kSecond);
  view.SetConnected(kCoordinator);
  ShardMap next = Map(2, {kFirst}, {kFirst, kFirst});
  next.recovered_at = next.version;
  const auto change = view.Adopt(std::move(next));
  EXPECT_EQ(change.gone, std::vector<NodeId>{kSecond});
  EXPECT_TRUE(change.server_gone);
  EXPECT_TRUE(change.recovered);
  EXPECT_FALSE(view.IsConnected(kSecond));
  EXPECT_TRUE(view.IsConnected(kFirst));
  EXPECT_TRUE(view.IsConnected(kCoordinator)) << "it has no place in the map";
  EXPECT_FALSE(view.Adopt(Map(3, {kFirst}, {kFirst, kFirst})).recovered);
}

TEST(ClusterView, AServerWithoutAConnectionIsNamed) {
  ClusterView view;
  EXPECT_EQ(view.ServerNotConnected(), NodeId());
  view.Adopt(Map(1, {kFirst, kSecond}, {kFirst}));
  view.SetConnected(kFirst);
  EXPECT_EQ(view.ServerNotConnected(), kSecond);
  view.SetConnected(kSecond);
  EXPECT_EQ(view.ServerNotConnected(), NodeId());
  view.SetDisconnected(kFirst);
  EXPECT_EQ(view.ServerNotConnected(), kFirst);
}

TEST(ClusterView, ANewerMapIsAskedForOnceInAWhile) {
  using std::chrono::seconds;
  ClusterView view(seconds(2));
  view.Adopt(Map(6, {kFirst}, {kFirst}));
  std::vector<Outgoing> send;
  view.AskForNewerMap(MonotonicTime(seconds(10)), send);
  EXPECT_TRUE(send.empty()) << "no coordinator is connected";
  view.SetConnected(kCoordinator);
  for (int at = 10; at < 14; ++at) view.AskForNewerMap(MonotonicTime(seconds(at)), send);
  ASSERT_EQ(send.size(), 2U);
  EXPECT_EQ(send[0].to, kCoordinator);
  EXPECT_EQ(std::get<MapRequest>(send[0].message).have, MapVersion(1, 6));
}

}  // namespace
}  // namespace attune::ps::cluster_view_test
