#include "ps/core/rows/row_installs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_installs_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kPeer = NodeParts::kPeer, kThird = NodeParts::kThird;
constexpr TableId kTable = NodeParts::kTable;
constexpr MapVersion kJoin{9};

class RowInstallsTest : public testing::Test {
 protected:
  // All shards get this next backup.
  void BeginJoin(NodeId next_backup) {
    const ShardMap old = parts_.node.map();
    parts_.AdoptChanged([&](ShardMap& map) {
      for (Shard& shard : map.shards) {
        shard.next_backup = next_backup;
        shard.join_id = kJoin;
      }
    });
    installs_.BeginJoins(old, parts_.out);
  }
  void Create(const std::vector<Key>& keys) { ASSERT_TRUE(parts_.rows().CreateRows(keys, RowVersion(0, 1)).ok()); }
  void AddForeign(Key key) {
    const std::vector<Key> keys{key};
    parts_.shards.AddForeign(parts_.rows(), keys, parts_.node.map(), kSelf);
  }

  NodeParts parts_{{.rows_per_message_max = 2, .installs_in_flight_max = 1}};
  RowInstalls installs_{parts_.node, parts_.tables, parts_.shards, parts_.records};
  const WaitingOrders no_orders_;
};

TEST_F(RowInstallsTest, ABackupGetsTheRowsThatItMisses) {
  Create({7});
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.backup = kPeer;
  });
  installs_.Answer({.map_version = {}, .table = kTable, .keys = std::vector<Key>{7, 8}}, parts_.out);
  const auto installs = parts_.Sent<Install>();
  ASSERT_THAT(installs, SizeIs(1));
  EXPECT_EQ(installs[0].first, kPeer);
  EXPECT_THAT(ListOf(installs[0].second.rows.keys), ElementsAre(7, 8)) << "a row that no worker has pushed to begins";
}

TEST_F(RowInstallsTest, ANextBackupGetsAllRowsInPiecesThatItAnswersAndThenTheMarker) {
  Create({1, 2, 3});
  BeginJoin(kPeer);
  EXPECT_EQ(installs_.joins().rows_to_install(), 1U);
  const auto first = parts_.Sent<Install>();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_)) << "one is not answered";
  EXPECT_FALSE(installs_.On(kThird, InstallAck{.map_version = {}, .install = first[0].second.install}).has_value());
  ASSERT_TRUE(installs_.On(kPeer, InstallAck{.map_version = {}, .install = first[0].second.install}).has_value());
  installs_.Pump(parts_.out);
  ASSERT_THAT(parts_.out.send, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<JoinMarker>(parts_.out.send[1].message));
  const auto second = parts_.Sent<Install>();
  ASSERT_THAT(second, SizeIs(1));
  installs_.On(kPeer, InstallAck{.map_version = {}, .install = second[0].second.install});
  EXPECT_TRUE(installs_.UpdateDone(false, no_orders_));
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_)) << "no news";
  EXPECT_THAT(installs_.joins().Done(), ElementsAre(kJoin));
}

TEST_F(RowInstallsTest, CopiesThatBecomeRowsAreCopiedToANextBackupAndTheJoinWaitsForTheHome) {
  const ShardMap old = parts_.node.map();
  parts_.AdoptChanged([&](ShardMap& map) {
    ++map.recoveries;
    map.recovered_at = map.version;
    std::erase_if(map.members, [](const Member& member) { return member.node == kThird; });
    for (Shard& shard : map.shards) shard = {.home = kSelf, .next_backup = kPeer, .join_id = kJoin};
  });
  installs_.BeginJoins(old, parts_.out);
  EXPECT_THAT(parts_.Sent<Install>(), IsEmpty());
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_)) << "the home still collects";
  Create({7});
  const std::vector<uint32_t> all{0, 1, 2, 3};
  installs_.CopyPromoted(all, parts_.out);
  parts_.shards.Activate(all);
  const auto sent = parts_.Sent<Install>();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_)) << "it is not answered";
  installs_.On(kPeer, InstallAck{.map_version = {}, .install = sent[0].second.install});
  EXPECT_TRUE(installs_.UpdateDone(false, no_orders_));
}

TEST_F(RowInstallsTest, AJoinIsNotDoneWhileRowsAreOnTheirWayOrComeHome) {
  BeginJoin(kPeer);
  parts_.shards.HandoverBegun(0);
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_));
  parts_.shards.HandoverEnded(0);
  EXPECT_FALSE(installs_.UpdateDone(true, no_orders_));
  EXPECT_TRUE(installs_.UpdateDone(false, no_orders_));
}

TEST_F(RowInstallsTest, TheNextBackupIsReadyWhenAllMembersHaveSentAllAndItOwnsNoRows) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.home = kPeer;
  });
  AddForeign(7);
  BeginJoin(kSelf);
  WaitingOrders orders;
  orders.Add({kTable, 8}, {.move_number = 1, .to = kPeer});
  installs_.On(kPeer, JoinMarker{.map_version = {}, .join_id = kJoin});
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_));
  installs_.On(kThird, JoinMarker{.map_version = {}, .join_id = kJoin});
  EXPECT_FALSE(installs_.UpdateDone(false, no_orders_)) << "it owns a row";
  parts_.shards.RemoveForeign(parts_.node.ShardOf(7));
  EXPECT_FALSE(installs_.UpdateDone(false, orders)) << "it will get a row";
  EXPECT_TRUE(installs_.UpdateDone(false, no_orders_));
}

TEST_F(RowInstallsTest, RowsThatArriveDuringAJoinAreCopiedAndHoldBackTheirAcknowledgement) {
  const std::vector<Key> keys{7};
  EXPECT_EQ(installs_.CopyArrived(kTable, keys, 5, parts_.out), 0U);
  BeginJoin(kPeer);
  Create(keys);
  EXPECT_EQ(installs_.CopyArrived(kTable, keys, 5, parts_.out), 1U);
  const auto installs = parts_.Sent<Install>();
  ASSERT_THAT(installs, SizeIs(1));
  const auto answer = installs_.On(kPeer, InstallAck{.map_version = {}, .install = installs[0].second.install});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->withheld, 5U);
}

TEST_F(RowInstallsTest, AJoinThatTheMapHasNoMoreHoldsNothingBack) {
  BeginJoin(kPeer);
  const std::vector<Key> keys{7};
  Create(keys);
  installs_.CopyArrived(kTable, keys, 5, parts_.out);
  EXPECT_THAT(installs_.EndJoins(), IsEmpty());
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.next_backup = {};
  });
  const auto ended = installs_.EndJoins();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].withheld, 5U);
}

TEST_F(RowInstallsTest, ANodeThatLeavesWaitsForTheMarkersOfAllWhoMayHaveOrderedRowsToIt) {
  EXPECT_EQ(installs_.LeaveMarkersMissing(), 0U);
  parts_.AdoptChanged([](ShardMap& map) { map.members[0].leaving = true; });
  EXPECT_EQ(installs_.LeaveMarkersMissing(), 2U);
  installs_.On(kPeer, JoinMarker{.map_version = {}, .join_id = {}});
  EXPECT_EQ(installs_.LeaveMarkersMissing(), 1U);
}

TEST_F(RowInstallsTest, EveryMemberMarksThatItHasSentAllOrdersToANodeThatLeavesOnce) {
  const ShardMap before = parts_.node.map();
  parts_.AdoptChanged([](ShardMap& map) { map.members[1].leaving = true; });
  installs_.MarkLeaving(before, parts_.out);
  const auto markers = parts_.Sent<JoinMarker>();
  ASSERT_THAT(markers, SizeIs(1));
  EXPECT_EQ(markers[0].first, kPeer);
  installs_.MarkLeaving(parts_.node.map(), parts_.out);
  EXPECT_THAT(parts_.Sent<JoinMarker>(), IsEmpty());
}

}  // namespace
}  // namespace attune::ps::row_installs_test
