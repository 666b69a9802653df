#include "ps/core/worker/operations/route_groups.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::route_groups_test {
namespace {

constexpr TableId kTable{1};

using Places = std::vector<uint32_t>;

Places PlacesOf(const RouteGroups& groups, size_t route) {
  const auto places = groups.PlacesOf(route);
  return {places.begin(), places.end()};
}

TEST(RouteGroups, KeysAreSentToTheirHomes) {
  RouteGroups groups;
  const std::vector<Key> keys = {KeyAt(kSecondServer), KeyAt(kFirstServer), KeyAt(kSecondServer, 1)};
  groups.Group(kTable, keys, SmallCluster(), LocationCache(16), nullptr);
  EXPECT_EQ(groups.routes(), (std::vector<NodeId>{kFirstServer, kSecondServer}));
  EXPECT_EQ(PlacesOf(groups, 0), Places{1});
  EXPECT_EQ(PlacesOf(groups, 1), (Places{0, 2}));
  EXPECT_EQ(groups.begins(), (std::vector<uint32_t>{0, 1, 3}));
}

TEST(RouteGroups, TheOwnerThatWasSeenLastComesBeforeTheHomeWhileItIsConnected) {
  RouteGroups groups;
  ClusterView cluster = SmallCluster();
  const std::vector<Key> keys = {KeyAt(kFirstServer), KeyAt(kFirstServer, 1)};
  LocationCache locations(16);
  locations.Put(kTable, keys[1], kOtherWorker);
  groups.Group(kTable, keys, cluster, locations, nullptr);
  EXPECT_EQ(groups.routes(), (std::vector<NodeId>{kFirstServer, kSecondServer, kOtherWorker}));
  EXPECT_EQ(PlacesOf(groups, 0), Places{0});
  EXPECT_EQ(PlacesOf(groups, 2), Places{1});
  cluster.SetDisconnected(kOtherWorker);
  groups.Group(kTable, keys, cluster, locations, nullptr);
  EXPECT_EQ(PlacesOf(groups, 0), (Places{0, 1})) << "the home sends it on";
}

TEST(RouteGroups, RowsThatAreHereNeedNoOther) {
  auto store = TableStore::Create({"rows", {.dim = 1}});
  ASSERT_TRUE(store.ok()) << store.status();
  const std::vector<Key> keys = {KeyAt(kFirstServer), KeyAt(kSecondServer)};
  ASSERT_TRUE((*store)->CreateRows(std::vector<Key>{keys[0]}, RowVersion()).ok());
  LocationCache locations(16);
  locations.Put(kTable, keys[0], kOtherWorker);  // out of date
  RouteGroups groups;
  groups.Group(kTable, keys, SmallCluster(), locations, store->get());
  EXPECT_EQ(groups.routes(), (std::vector<NodeId>{kFirstServer, kSecondServer, kWorker}));
  EXPECT_EQ(PlacesOf(groups, 0), Places{});
  EXPECT_EQ(PlacesOf(groups, 1), Places{1});
  EXPECT_EQ(PlacesOf(groups, 2), Places{0});
}

TEST(RouteGroups, WithOneServerAndNoRowsElsewhereNothingIsReordered) {
  ShardMap map = SmallMap();
  map.shards = {{.home = kFirstServer}};
  map.members.erase(map.members.begin() + 1);
  ClusterView cluster;
  cluster.Adopt(std::move(map));
  RouteGroups groups;
  groups.Group(kTable, std::vector<Key>{9, 3, 5}, cluster, LocationCache(16), nullptr);
  EXPECT_EQ(groups.routes(), std::vector<NodeId>{kFirstServer});
  EXPECT_EQ(PlacesOf(groups, 0), (Places{0, 1, 2}));
}

}  // namespace
}  // namespace attune::ps::route_groups_test
