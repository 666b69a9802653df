#include "ps/core/rows/row_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_operations_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kPeer = NodeParts::kPeer, kWorker = NodeParts::kWorker;
constexpr TableId kTable = NodeParts::kTable;

class RowOperationsTest : public testing::Test {
 protected:
  RowOperationsTest() { operations_.TakeAffected(false, {}); }

  Push PushOf(uint64_t sequence, const std::vector<Key>& keys) const {
    Push push{.origin = kWorker,
              .sequence = SequenceNumber(sequence),
              .table = kTable,
              .map_version = parts_.node.map().version,
              .acked_below = {}};
    push.positions = {.first = 0, .count = static_cast<uint32_t>(keys.size()), .list = {}};
    push.keys = keys;
    push.gradients = std::vector<float>(keys.size(), -1.0F);
    return push;
  }
  void On(NodeId from, Push push) { operations_.On(from, std::move(push), {}, parts_.out); }
  // Every shard gets this home.
  void MoveHomes(NodeId home) {
    const auto changes = parts_.AdoptChanged([&](ShardMap& map) {
      for (Shard& shard : map.shards) shard.home = home;
    });
    operations_.Requeue(operations_.TakeAffected(false, changes.given_away), {}, parts_.out);
  }
  static uint64_t Sum(const std::vector<ShardKeys>& shards) {
    uint64_t sum = 0;
    for (const ShardKeys& shard : shards) sum += shard.keys;
    return sum;
  }

  NodeParts parts_;
  RowPulls pulls_{parts_.node, parts_.tables, parts_.records};
  RowSnapshot snapshot_{parts_.node, parts_.tables, parts_.records};
  RowMoves moves_{parts_.node, parts_.tables, parts_.shards, parts_.records, pulls_, snapshot_, parts_.replicas};
  RowInstalls installs_{parts_.node, parts_.tables, parts_.shards, parts_.records};
  RowOperations operations_{parts_.node, parts_.tables, parts_.shards, parts_.records,
                            pulls_,      moves_,        installs_,     parts_.replicas};
};

TEST_F(RowOperationsTest, APushWhoseRowsAreHereIsAppliedAndCounted) {
  On(kWorker, PushOf(1, {7, 8}));
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 1.0F);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(1));
  EXPECT_EQ(Sum(operations_.TakeServedKeys()), 2U);
  EXPECT_THAT(operations_.TakeServedKeys(), IsEmpty()) << "it was taken";
}

TEST_F(RowOperationsTest, AnOperationOnARowOfAnotherHomeIsSentThere) {
  MoveHomes(kPeer);
  On(kWorker, PushOf(1, {7}));
  const auto pushes = parts_.Sent<Push>();
  ASSERT_THAT(pushes, SizeIs(1));
  EXPECT_EQ(pushes[0].first, kPeer);
  EXPECT_EQ(parts_.node.counters().forwarded, 1U);
  EXPECT_THAT(operations_.TakeServedKeys(), IsEmpty()) << "only the home counts";
}

TEST_F(RowOperationsTest, WhatTheHomeSendsWaitsForItsRow) {
  MoveHomes(kPeer);
  Push push = PushOf(1, {7});
  push.by_home = true;
  On(kPeer, push);
  EXPECT_EQ(operations_.waiting().rows(), 1U);
  EXPECT_THAT(parts_.Sent<PushAck>(), IsEmpty());
  const float value = 3;
  ASSERT_TRUE(parts_.rows().Insert(RowView{.key = 7, .values = {&value, 1}}).ok());
  operations_.RunWaiting(kTable, std::vector<Key>{7}, {}, parts_.out);
  EXPECT_EQ(operations_.waiting().rows(), 0U);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 4.0F);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(1));
}

TEST_F(RowOperationsTest, AHomeThatIsNotReadyQueuesUntilItIs) {
  MoveHomes(kPeer);
  MoveHomes(kSelf);  // the rows are still at the peer
  On(kWorker, PushOf(1, {7}));
  EXPECT_EQ(operations_.waiting().queued(), 1U);
  parts_.shards.Activate(std::vector<uint32_t>{0, 1, 2, 3});
  operations_.RunQueued({}, parts_.out);
  EXPECT_EQ(operations_.waiting().queued(), 0U);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 1.0F);
}

TEST_F(RowOperationsTest, ARecoveryTakesWhatWaitsForRows) {
  MoveHomes(kPeer);
  Push push = PushOf(1, {7, 8});
  push.by_home = true;
  On(kPeer, push);
  EXPECT_THAT(operations_.TakeAffected(false, {}), IsEmpty());
  auto operations = operations_.TakeAffected(true, {});
  ASSERT_THAT(operations, SizeIs(1)) << "one message, two keys";
  operations_.Requeue(std::move(operations), {}, parts_.out);
  const auto pushes = parts_.Sent<Push>();
  ASSERT_THAT(pushes, SizeIs(1)) << "the home is asked again, no matter which node sent it";
  EXPECT_THAT(ListOf(pushes[0].second.keys), ElementsAre(7, 8));
  EXPECT_FALSE(pushes[0].second.by_home);
}

TEST_F(RowOperationsTest, APushWhoseCopyWasRefusedIsDispatchedAgain) {
  Replicate replicate{.origin = kWorker, .sequence = SequenceNumber(1), .table = kTable};
  replicate.positions = {.first = 0, .count = 1, .list = {}};
  replicate.keys = std::vector<Key>{7};
  replicate.gradients = std::vector<float>{-1};
  operations_.On(ReplicateRefused{.map_version = {}, .replicate = replicate}, {}, parts_.out);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 1.0F);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(1));
  operations_.LearnSettled(kWorker, SequenceNumber(1), parts_.out);
  operations_.On(ReplicateRefused{.map_version = {}, .replicate = replicate}, {}, parts_.out);
  EXPECT_THAT(parts_.Sent<PushAck>(), IsEmpty()) << "its worker knows";
}

}  // namespace
}  // namespace attune::ps::row_operations_test
