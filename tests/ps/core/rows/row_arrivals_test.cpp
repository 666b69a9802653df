#include "ps/core/rows/row_arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_arrivals_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kPeer = NodeParts::kPeer, kThird = NodeParts::kThird;
constexpr TableId kTable = NodeParts::kTable;

class RowArrivalsTest : public testing::Test {
 protected:
  RowArrivalsTest() { operations_.TakeAffected(false, {}); }

  void MoveHomes(Shard shard) {
    const ShardMap old = parts_.node.map();
    parts_.AdoptChanged([&](ShardMap& map) {
      for (Shard& each : map.shards) each = shard;
    });
    operations_.TakeAffected(false, {});
    installs_.BeginJoins(old, parts_.out);
    parts_.out.send.clear();
  }
  static Handover HandoverOf(uint64_t number, Key key, float value) {
    Handover handover{.map_version = {}, .handover = number, .mark = {}, .rows = {.table = kTable}, .records = {}};
    handover.rows.keys = std::vector<Key>{key};
    handover.rows.versions = std::vector<RowVersion>{RowVersion()};
    handover.rows.move_numbers = std::vector<uint16_t>{0};
    handover.rows.values = std::vector<float>{value};
    return handover;
  }

  NodeParts parts_;
  RowPulls pulls_{parts_.node, parts_.tables, parts_.records};
  RowSnapshot snapshot_{parts_.node, parts_.tables, parts_.records};
  RowMoves moves_{parts_.node, parts_.tables, parts_.shards, parts_.records, pulls_, snapshot_, parts_.replicas};
  RowInstalls installs_{parts_.node, parts_.tables, parts_.shards, parts_.records};
  RowOperations operations_{parts_.node, parts_.tables, parts_.shards, parts_.records,
                            pulls_,      moves_,        installs_,     parts_.replicas};
  RowArrivals arrivals_{parts_.node, parts_.tables, parts_.shards, parts_.records, pulls_,
                        snapshot_,   moves_,        installs_,     operations_};
};

TEST_F(RowArrivalsTest, RowsAreInsertedAndAcknowledged) {
  MoveHomes({.home = kPeer});
  arrivals_.On(kThird, HandoverOf(5, 7, 3), {}, parts_.out);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 3.0F);
  EXPECT_EQ(parts_.node.counters().rows_received, 1U);
  EXPECT_THAT(parts_.out.arrived, SizeIs(1));
  const auto acks = parts_.Sent<HandoverAck>();
  ASSERT_THAT(acks, SizeIs(1));
  EXPECT_EQ(acks[0].first, kThird);
  EXPECT_EQ(acks[0].second.handover, 5U);
  EXPECT_EQ(acks[0].second.arrived_at, parts_.node.map().version);
  EXPECT_EQ(arrivals_.withheld(), 0U);
}

TEST_F(RowArrivalsTest, RowsThatDoNotFitTheirTableAreRejected) {
  Handover handover = HandoverOf(5, 7, 3);
  handover.rows.values = std::vector<float>{1, 2, 3};
  arrivals_.On(kThird, std::move(handover), {}, parts_.out);
  EXPECT_THAT(parts_.out.rejected, SizeIs(1));
  EXPECT_THAT(parts_.Sent<HandoverAck>(), IsEmpty());
}

TEST_F(RowArrivalsTest, TheAcknowledgementWaitsForTheCopyOfTheNextBackup) {
  MoveHomes({.home = kPeer, .next_backup = kThird});
  arrivals_.On(kPeer, HandoverOf(5, 7, 3), {}, parts_.out);
  EXPECT_EQ(arrivals_.withheld(), 1U);
  EXPECT_THAT(parts_.Sent<HandoverAck>(), IsEmpty());
  arrivals_.Answered(std::nullopt, parts_.out);
  EXPECT_THAT(parts_.Sent<HandoverAck>(), IsEmpty()) << "an answer that nothing waits for";
  arrivals_.Answered(1, parts_.out);
  EXPECT_THAT(parts_.Sent<HandoverAck>(), SizeIs(1));
  EXPECT_EQ(arrivals_.withheld(), 0U);
}

TEST_F(RowArrivalsTest, ANodeThatIsGoneGetsNoAcknowledgement) {
  MoveHomes({.home = kPeer, .next_backup = kThird});
  arrivals_.On(kPeer, HandoverOf(5, 7, 3), {}, parts_.out);
  parts_.AdoptChanged(
      [](ShardMap& map) { std::erase_if(map.members, [](const Member& m) { return m.node == kPeer; }); });
  arrivals_.ForgetRemoved();
  EXPECT_EQ(arrivals_.withheld(), 0U);
}

TEST_F(RowArrivalsTest, AHomeThatBecomesReadyTakesUpWhatHasQueued) {
  MoveHomes({.home = kPeer});
  MoveHomes({.home = kSelf});
  Push push{.origin = NodeParts::kWorker,
            .sequence = SequenceNumber(1),
            .table = kTable,
            .map_version = parts_.node.map().version,
            .acked_below = {}};
  push.positions = {.first = 0, .count = 1, .list = {}};
  push.keys = std::vector<Key>{7};
  push.gradients = std::vector<float>{-1};
  operations_.On(NodeParts::kWorker, std::move(push), {}, parts_.out);
  EXPECT_THAT(parts_.Sent<PushAck>(), IsEmpty());
  arrivals_.Activate(std::vector<uint32_t>{0, 1, 2, 3}, {}, parts_.out);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(1));
  EXPECT_TRUE(parts_.out.report);
}

}  // namespace
}  // namespace attune::ps::row_arrivals_test
