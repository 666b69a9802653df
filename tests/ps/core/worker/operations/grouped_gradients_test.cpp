#include "ps/core/worker/operations/grouped_gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::grouped_gradients_test {
namespace {

using Keys = std::vector<Key>;
using Values = std::vector<float>;

class GroupedGradientsTest : public testing::Test {
 protected:
  // The value of a key's gradient is ten times its place in the call.
  GroupedGradients Group(Keys keys) {
    Values values;
    for (size_t i = 0; i < keys.size(); ++i) values.push_back(10 * static_cast<float>(i));
    groups_.Group(TableId(1), keys, cluster_, LocationCache(16), nullptr);
    return {{.keys = std::move(keys), .values = std::move(values)}, 1, groups_, cluster_.homes_version()};
  }
  static std::vector<PushPart> Parts(const GroupedGradients& gradients, size_t keys_max) {
    std::vector<PushPart> parts;
    gradients.ForEachPart(keys_max, [&](PushPart part) { parts.push_back(std::move(part)); });
    return parts;
  }
  template <typename Wanted>
  std::vector<PushPart> PartsByHome(const GroupedGradients& gradients, std::optional<NodeId> only, Wanted wanted) {
    std::vector<PushPart> parts;
    gradients.ForEachPartByHome(cluster_, only, 100, wanted, [&](PushPart part) { parts.push_back(std::move(part)); });
    return parts;
  }

  ClusterView cluster_ = SmallCluster();
  RouteGroups groups_;
  const Key first_ = KeyAt(kFirstServer), also_first_ = KeyAt(kFirstServer, 1), third_first_ = KeyAt(kFirstServer, 2);
  const Key second_ = KeyAt(kSecondServer);
};

TEST_F(GroupedGradientsTest, EachRouteIsAConsecutivePiece) {
  const GroupedGradients gradients = Group({first_, second_, also_first_});
  EXPECT_EQ(gradients.keys(), Slice<Key>(Keys{first_, also_first_, second_}));
  const std::vector<PushPart> parts = Parts(gradients, 100);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].to, kFirstServer);
  EXPECT_EQ(parts[0].gradients, Slice<float>(Values{0, 20}));
  EXPECT_EQ(parts[1].to, kSecondServer);
  EXPECT_EQ(parts[1].positions.first, 2U);
  EXPECT_EQ(parts[1].gradients, Slice<float>(Values{10}));
}

TEST_F(GroupedGradientsTest, NoPartHasMoreKeysThanAMessageMay) {
  const std::vector<PushPart> parts = Parts(Group({first_, also_first_, third_first_}), 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].keys.size(), 2U);
  EXPECT_EQ(parts[1].keys, Slice<Key>(Keys{third_first_}));
  EXPECT_EQ(parts[1].positions.first, 2U);
}

TEST_F(GroupedGradientsTest, WhatIsSentAgainIsWhatIsWanted) {
  const GroupedGradients gradients = Group({first_, also_first_, third_first_, second_});
  const auto parts = PartsByHome(gradients, {}, [](uint32_t position) { return position != 1; });
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].to, kFirstServer);
  EXPECT_EQ(parts[0].positions.list, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(parts[0].keys, Slice<Key>(Keys{first_, third_first_}));
  EXPECT_EQ(parts[0].gradients, Slice<float>(Values{0, 20}));
  EXPECT_EQ(parts[1].to, kSecondServer);
  EXPECT_TRUE(PartsByHome(gradients, {}, [](uint32_t) { return false; }).empty());
}

TEST_F(GroupedGradientsTest, WhatIsSentAgainGoesByTheHomesOfToday) {
  const GroupedGradients gradients = Group({first_, second_});
  ShardMap next = SmallMap(2);
  next.shards[0].home = kSecondServer;
  cluster_.Adopt(std::move(next));
  EXPECT_NE(gradients.homes_version(), cluster_.homes_version());
  const auto all = [](uint32_t) { return true; };
  const auto parts = PartsByHome(gradients, {}, all);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].to, kSecondServer);
  EXPECT_EQ(parts[0].keys.size(), 2U);
  EXPECT_TRUE(parts[0].positions.list.empty()) << "consecutive positions need no list, and no copy";
  EXPECT_TRUE(PartsByHome(gradients, kFirstServer, all).empty());
}

class OneServerTest : public GroupedGradientsTest {
 protected:
  OneServerTest() {
    ShardMap map = SmallMap(2);
    map.shards = {{.home = kFirstServer}, {.home = kFirstServer}};
    map.members.erase(map.members.begin() + 1);
    cluster_.Adopt(std::move(map));
  }
};

TEST_F(OneServerTest, NothingIsCopied) {
  const Slice<Key> keys(Keys{5, 9});
  const Slice<float> values(Values{1, 2});
  groups_.Group(TableId(1), keys.view(), cluster_, LocationCache(16), nullptr);
  const GroupedGradients gradients({.keys = keys, .values = values}, 1, groups_, cluster_.homes_version());
  const std::vector<PushPart> parts = Parts(gradients, 100);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].to, kFirstServer);
  EXPECT_EQ(parts[0].keys.data(), keys.data());
  EXPECT_EQ(parts[0].gradients.data(), values.data());
}

// A program may use its memory for the next push as soon as this one is taken, and this one may be sent again.
void ExpectKept(const ClusterView& cluster, Keys keys) {
  RouteGroups groups;
  groups.Group(TableId(1), keys, cluster, LocationCache(16), nullptr);
  const Keys keys_then = keys;
  Values values(keys.size(), 1);
  const GroupedGradients gradients(
      {.keys = Slice<Key>(nullptr, std::span<const Key>(keys)), .values = Slice<float>(nullptr, values)}, 1, groups,
      cluster.homes_version());
  std::ranges::fill(keys, 0);
  std::ranges::fill(values, 0);
  gradients.ForEachPart(100, [&](const PushPart& part) {
    for (size_t i = 0; i < part.keys.size(); ++i) {
      EXPECT_NE(std::ranges::find(keys_then, part.keys[i]), keys_then.end());
      EXPECT_EQ(part.gradients[i], 1);
    }
  });
}
TEST_F(GroupedGradientsTest, MemoryWithoutAnOwnerIsCopied) { ExpectKept(cluster_, {first_, second_}); }
TEST_F(OneServerTest, MemoryWithoutAnOwnerIsCopied) { ExpectKept(cluster_, {5, 9}); }

}  // namespace
}  // namespace attune::ps::grouped_gradients_test
