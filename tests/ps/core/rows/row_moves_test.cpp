#include "ps/core/rows/row_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_moves_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kPeer = NodeParts::kPeer, kThird = NodeParts::kThird;
constexpr TableId kTable = NodeParts::kTable;

class RowMovesTest : public testing::Test {
 protected:
  void Move(const std::vector<Key>& keys, NodeId to) { moves_.Move(kTable, keys, to, {}, parts_.out); }
  static MoveOrder OrderOf(Key key, uint16_t move_number, NodeId to) {
    return {.map_version = {},
            .table = kTable,
            .to = to,
            .keys = std::vector<Key>{key},
            .move_numbers = std::vector<uint16_t>{move_number}};
  }
  void Insert(Key key, uint16_t move_number) {
    const float value = 3;
    ASSERT_TRUE(parts_.rows().Insert(RowView{.key = key, .move_number = move_number, .values = {&value, 1}}).ok());
  }
  const RowDirectory::Entry* EntryOf(Key key) const { return parts_.shards.directory().Find({kTable, key}); }

  NodeParts parts_{{.orders_max = 2}};
  RowPulls pulls_{parts_.node, parts_.tables, parts_.records};
  RowSnapshot snapshot_{parts_.node, parts_.tables, parts_.records};
  RowMoves moves_{parts_.node, parts_.tables, parts_.shards, parts_.records, pulls_, snapshot_, parts_.replicas};
};

TEST_F(RowMovesTest, ANextBackupKeepsACopyOfWhatItGivesBack) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard = {.home = kPeer, .next_backup = kSelf};
  });
  Insert(7, 4);
  const Key key = 7;
  parts_.records.filter().Record(NodeParts::kWorker, SequenceNumber(1), kTable, {.first = 0, .count = 1, .list = {}},
                                 {&key, 1}, DuplicateFilter::Decision::kApplied);
  moves_.On(kPeer, OrderOf(7, 5, kPeer), {}, parts_.out);
  EXPECT_THAT(parts_.Sent<Handover>(), SizeIs(1));
  const std::optional<Message> kept = parts_.node.TakeOwn();
  ASSERT_TRUE(kept && std::holds_alternative<Install>(*kept));
  EXPECT_THAT(ListOf(std::get<Install>(*kept).rows.keys), ElementsAre(7));
  EXPECT_THAT(std::get<Install>(*kept).records.records, SizeIs(1)) << "with what the row contains";
}

TEST_F(RowMovesTest, ARowThatIsHereLeavesWithItsRecords) {
  Insert(7, 4);
  const Key key = 7;
  parts_.records.filter().Record(NodeParts::kWorker, SequenceNumber(1), kTable, {.first = 0, .count = 1, .list = {}},
                                 {&key, 1}, DuplicateFilter::Decision::kApplied);
  Move({7}, kPeer);
  const auto handovers = parts_.Sent<Handover>();
  ASSERT_THAT(handovers, SizeIs(1));
  EXPECT_EQ(handovers[0].first, kPeer);
  EXPECT_THAT(ListOf(handovers[0].second.rows.keys), ElementsAre(7));
  EXPECT_THAT(ListOf(handovers[0].second.rows.move_numbers), ElementsAre(5));
  EXPECT_THAT(handovers[0].second.records.records, SizeIs(1));
  EXPECT_FALSE(parts_.rows().Contains(7));
  ASSERT_NE(EntryOf(7), nullptr);
  EXPECT_EQ(EntryOf(7)->owner, kPeer);
  EXPECT_TRUE(EntryOf(7)->sent_by_me);
  EXPECT_EQ(parts_.shards[parts_.node.ShardOf(7)].handovers, 1U);
}

TEST_F(RowMovesTest, ARowThatIsElsewhereIsOrderedFromItsOwner) {
  Move({7}, kPeer);
  parts_.out.send.clear();
  Move({7}, kThird);
  const auto orders = parts_.Sent<MoveOrder>();
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].first, kPeer);
  EXPECT_EQ(orders[0].second.to, kThird);
  EXPECT_THAT(ListOf(orders[0].second.move_numbers), ElementsAre(2));
  EXPECT_EQ(EntryOf(7)->owner, kThird);
}

TEST_F(RowMovesTest, ABackupGetsNoRowsOfItsShard) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.backup = kPeer;
  });
  Move({7}, kPeer);
  EXPECT_THAT(parts_.out.send, IsEmpty());
  EXPECT_EQ(EntryOf(7), nullptr);
}

TEST_F(RowMovesTest, AnOrderWaitsForTheMoveBeforeIt) {
  Insert(7, 1);
  moves_.On(kThird, OrderOf(7, 3, kPeer), {}, parts_.out);
  EXPECT_THAT(parts_.Sent<Handover>(), IsEmpty());
  EXPECT_EQ(moves_.orders().size(), 1U);
  Insert(7, 2);
  const std::vector<Key> arrived{7};
  moves_.TryOrders(kTable, arrived, {}, parts_.out);
  EXPECT_THAT(parts_.Sent<Handover>(), SizeIs(1));
  EXPECT_EQ(moves_.orders().size(), 0U);
}

TEST_F(RowMovesTest, OrdersBeyondTheLimitAreRejected) {
  for (Key key = 0; key < 3; ++key) moves_.On(kThird, OrderOf(key, 9, kPeer), {}, parts_.out);
  EXPECT_EQ(moves_.orders().size(), 2U);
  EXPECT_THAT(parts_.out.rejected, SizeIs(1));
}

TEST_F(RowMovesTest, OrdersFromBeforeARecoveryAreNotObeyed) {
  Insert(7, 1);
  parts_.AdoptChanged([](ShardMap& map) { map.recovered_at = map.version; });
  MoveOrder order = OrderOf(7, 2, kPeer);
  order.map_version = NodeParts::FirstMap().version;
  moves_.On(kThird, order, {}, parts_.out);
  EXPECT_TRUE(parts_.rows().Contains(7));
}

TEST_F(RowMovesTest, AHandoverEndsWithTheAnswerOfItsReceiverOrWhenThatIsRemoved) {
  Move({7}, kPeer);
  Move({8}, kThird);
  const auto handovers = parts_.Sent<Handover>();
  ASSERT_THAT(handovers, SizeIs(2));
  const HandoverAck ack{.map_version = {}, .handover = handovers[0].second.handover, .arrived_at = {}};
  EXPECT_FALSE(moves_.Acknowledged(kThird, ack).has_value());
  ASSERT_TRUE(moves_.Acknowledged(kPeer, ack).has_value());
  EXPECT_EQ(parts_.shards[parts_.node.ShardOf(7)].handovers, 0U);
  EXPECT_EQ(moves_.handovers().size(), 1U);
  parts_.AdoptChanged(
      [](ShardMap& map) { std::erase_if(map.members, [](const Member& m) { return m.node == kThird; }); });
  moves_.EndLostHandovers();
  EXPECT_EQ(moves_.handovers().size(), 0U);
  EXPECT_EQ(parts_.shards[parts_.node.ShardOf(8)].handovers, 0U);
}

TEST_F(RowMovesTest, TheNextHomeLearnsWhoOwnsWhat) {
  Insert(7, 1);
  Move({8}, kThird);
  parts_.out.send.clear();
  const auto changes = parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.home = kPeer;
  });
  moves_.SendHandoffs(changes.given_away, true, parts_.out);
  std::vector<std::pair<Key, NodeId>> owners;
  size_t complete = 0;
  for (const auto& [to, handoff] : parts_.Sent<HomeHandoff>()) {
    EXPECT_EQ(to, kPeer);
    complete += handoff.complete.size();
    for (size_t i = 0; i < handoff.entries.keys.size(); ++i) {
      owners.emplace_back(handoff.entries.keys[i], handoff.entries.owners[i]);
    }
  }
  EXPECT_THAT(owners, testing::UnorderedElementsAre(std::pair(Key{7}, kSelf), std::pair(Key{8}, kThird)));
  EXPECT_EQ(complete, 4U);
  EXPECT_EQ(EntryOf(8), nullptr);
  EXPECT_EQ(parts_.shards.foreign_rows(), 1U);
}

TEST_F(RowMovesTest, ANewHomeTakesTheDirectoryButForRowsThatHaveArrivedMeanwhile) {
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.home = kPeer;
  });
  parts_.AdoptChanged([](ShardMap& map) {
    for (Shard& shard : map.shards) shard.home = kSelf;
  });
  Insert(7, 3);
  HomeHandoff handoff{.map_version = parts_.node.map().version,
                      .entries = {.table = kTable,
                                  .keys = std::vector<Key>{7, 8},
                                  .owners = std::vector<NodeId>{kSelf, kThird},
                                  .move_numbers = std::vector<uint16_t>{3, 1}},
                      .complete = {}};
  EXPECT_THAT(moves_.Take(handoff), IsEmpty());
  EXPECT_EQ(EntryOf(7), nullptr);
  ASSERT_NE(EntryOf(8), nullptr);
  EXPECT_EQ(EntryOf(8)->owner, kThird);
  handoff.entries = {};
  handoff.complete = std::vector<ShardId>{ShardId(0), ShardId(2)};
  EXPECT_THAT(moves_.Take(handoff), ElementsAre(0, 2));
}

TEST_F(RowMovesTest, RowsOfAServerAreCalledHome) {
  Move({7}, kPeer);
  parts_.out.send.clear();
  moves_.PlanCallBacks();
  EXPECT_EQ(moves_.rows_to_come(), 1U);
  moves_.CallBack({}, parts_.out);
  const auto orders = parts_.Sent<MoveOrder>();
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].second.to, kSelf);
  EXPECT_EQ(moves_.rows_to_come(), 1U) << "it is on its way";
  EXPECT_TRUE(EntryOf(7)->called_back);
}

// A node that leaves may have reported that it has nothing while a row is still on its way through it.
TEST_F(RowMovesTest, ARowThatAnotherNodeHasAskedToComeHomeIsWaitedForToo) {
  Move({7}, kPeer);
  Move({7}, kSelf);
  EXPECT_EQ(moves_.rows_to_come(), 1U);
}

}  // namespace
}  // namespace attune::ps::row_moves_test
