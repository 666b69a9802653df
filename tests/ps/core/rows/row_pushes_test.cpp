#include "ps/core/rows/row_pushes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_pushes_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kPeer = NodeParts::kPeer, kThird = NodeParts::kThird, kWorker = NodeParts::kWorker;

class RowPushesTest : public testing::Test {
 protected:
  static Push PushOf(uint64_t sequence, const std::vector<Key>& keys, uint32_t first = 0) {
    Push push{.origin = kWorker,
              .sequence = SequenceNumber(sequence),
              .table = NodeParts::kTable,
              .map_version = {},
              .acked_below = {}};
    push.positions = {.first = first, .count = static_cast<uint32_t>(keys.size()), .list = {}};
    push.keys = keys;
    push.gradients = std::vector<float>(keys.size(), -1.0F);
    return push;
  }
  // So many pushes to a copy of each row at a worker, which have raised its value by 10.
  static Push FoldOf(uint64_t sequence, const std::vector<Key>& keys, const std::vector<uint32_t>& pushes) {
    Push push = PushOf(sequence, keys);
    push.gradients = std::vector<float>(keys.size(), 10.0F);
    for (const uint32_t count : pushes) push.folds.push_back({.pushes = count, .updates = count});
    return push;
  }
  // Every shard gets this backup and next backup.
  void GiveBackups(NodeId backup, NodeId next_backup) {
    parts_.AdoptChanged([&](ShardMap& map) {
      for (Shard& shard : map.shards) {
        shard.backup = backup;
        shard.next_backup = next_backup;
      }
    });
  }

  NodeParts parts_;
  RowPushes pushes_{parts_.node, parts_.tables, parts_.shards, parts_.records, parts_.replicas};
};

TEST_F(RowPushesTest, APushIsAppliedAndAcknowledgedByItsOwner) {
  EXPECT_TRUE(pushes_.Apply(PushOf(1, {7, 8}), parts_.out));
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 1.0F);
  const auto acks = parts_.Sent<PushAck>();
  ASSERT_THAT(acks, SizeIs(1));
  EXPECT_EQ(acks[0].first, kWorker);
  EXPECT_EQ(acks[0].second.positions.count, 2U);
}

TEST_F(RowPushesTest, ACopyOfAPushIsAcknowledgedAgainAndAppliedOnce) {
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 1.0F);
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(2));
  EXPECT_EQ(parts_.node.counters().duplicate_pushes, 1U);
}

TEST_F(RowPushesTest, OfACopyThatIsCutInOtherPiecesOnlyTheNewKeysAreApplied) {
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  pushes_.Apply(PushOf(1, {7, 8}), parts_.out);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 1.0F);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 8), 1.0F);
}

TEST_F(RowPushesTest, ASettledPushIsNotAdmitted) {
  EXPECT_TRUE(pushes_.Admit(PushOf(1, {7}), parts_.out));
  parts_.records.filter().MergeAckedBelow(kWorker, SequenceNumber(1));
  EXPECT_FALSE(pushes_.Admit(PushOf(1, {7}), parts_.out));
  EXPECT_FALSE(pushes_.Apply(PushOf(1, {7}), parts_.out)) << "a copy that has waited";
  EXPECT_THAT(parts_.Sent<PushRefused>(), IsEmpty()) << "its worker knows";
}

TEST_F(RowPushesTest, APushOfTheWrongLengthOrBeyondTheWindowIsRefused) {
  Push push = PushOf(1, {7});
  push.gradients = std::vector<float>{1, 2};
  EXPECT_FALSE(pushes_.Admit(push, parts_.out));
  EXPECT_FALSE(pushes_.Admit(PushOf(kPushWindowMax + 1, {7}), parts_.out));
  EXPECT_TRUE(pushes_.Admit(PushOf(kPushWindowMax, {7}), parts_.out));
  const auto refused = parts_.Sent<PushRefused>();
  ASSERT_THAT(refused, SizeIs(2));
  EXPECT_EQ(refused[0].second.status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused[1].second.status.code(), StatusCode::kResourceExhausted);
}

TEST_F(RowPushesTest, APushToATableThatIsNotOpenIsRefusedWhereItIsApplied) {
  Push push = PushOf(1, {7});
  push.table = TableId(2);
  EXPECT_TRUE(pushes_.Admit(push, parts_.out)) << "it may be sent on";
  EXPECT_FALSE(pushes_.Apply(std::move(push), parts_.out));
  const auto refused = parts_.Sent<PushRefused>();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].second.status.code(), StatusCode::kNotFound);
}

TEST_F(RowPushesTest, ABackupAcknowledgesInsteadOfTheOwner) {
  GiveBackups(kPeer, {});
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  const auto replicates = parts_.Sent<Replicate>();
  ASSERT_THAT(replicates, SizeIs(1));
  EXPECT_EQ(replicates[0].first, kPeer);
  EXPECT_TRUE(replicates[0].second.ack_wanted);
  EXPECT_FALSE(replicates[0].second.probe);
  EXPECT_EQ(replicates[0].second.versions[0].counter(), 1U);
}

TEST_F(RowPushesTest, WithoutABackupTheNextOneAcknowledges) {
  GiveBackups({}, kThird);
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  const auto replicates = parts_.Sent<Replicate>();
  ASSERT_THAT(replicates, SizeIs(1));
  EXPECT_EQ(replicates[0].first, kThird);
}

TEST_F(RowPushesTest, ACopyOfAPushAsksTheBackupWhetherItHasIt) {
  GiveBackups(kPeer, {});
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  const auto replicates = parts_.Sent<Replicate>();
  ASSERT_THAT(replicates, SizeIs(2));
  EXPECT_TRUE(replicates[1].second.probe);
  EXPECT_EQ(replicates[1].second.versions[0], replicates[0].second.versions[0]);
}

TEST_F(RowPushesTest, AMemberThatIsRemovedPushesNothing) {
  parts_.AdoptChanged([](ShardMap& map) { map.members.pop_back(); });
  EXPECT_FALSE(pushes_.Apply(PushOf(1, {7}), parts_.out));
  EXPECT_FALSE(parts_.rows().Contains(7));
}

TEST_F(RowPushesTest, RowsThatBeginAfterARecoveryBeginInItsEra) {
  parts_.AdoptChanged([](ShardMap& map) { map.recoveries = 3; });
  pushes_.Apply(PushOf(1, {7}), parts_.out);
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 7), RowVersion(3, 1));
}

// --- folds

TEST_F(RowPushesTest, AFoldRaisesTheVersionByAllItsPushesAndIsAcknowledgedOnce) {
  EXPECT_TRUE(pushes_.Apply(FoldOf(1, {7, 8}, {3, 4}), parts_.out));
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 10.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 7), RowVersion(0, 3));
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 8), RowVersion(0, 4));
  EXPECT_THAT(parts_.Sent<PushAck>(), SizeIs(1));
}

TEST_F(RowPushesTest, AFoldThatIsCutInOtherPiecesIsAppliedOnce) {
  pushes_.Apply(FoldOf(1, {7}, {3}), parts_.out);
  pushes_.Apply(FoldOf(1, {7, 8}, {3, 4}), parts_.out);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 7), 10.0F);
  EXPECT_EQ(NodeParts::ValueOf(parts_.rows(), 8), 10.0F);
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 7), RowVersion(0, 3));
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 8), RowVersion(0, 4));
}

TEST_F(RowPushesTest, ABackupGetsTheFoldWithTheVersionsAfterIt) {
  GiveBackups(kPeer, {});
  pushes_.Apply(FoldOf(1, {7, 8}, {3, 4}), parts_.out);
  const auto replicates = parts_.Sent<Replicate>();
  ASSERT_THAT(replicates, SizeIs(1));
  const Replicate& replicate = replicates[0].second;
  EXPECT_EQ(replicate.folds, FoldOf(1, {7, 8}, {3, 4}).folds);
  EXPECT_EQ(ListOf(replicate.gradients), (std::vector<float>{10, 10}));
  EXPECT_EQ(ListOf(replicate.versions), (std::vector<RowVersion>{RowVersion(0, 3), RowVersion(0, 4)}));
}

TEST_F(RowPushesTest, AFoldOfTheWrongLengthIsRefused) {
  Push fold = FoldOf(1, {7}, {3});
  EXPECT_TRUE(pushes_.Admit(fold, parts_.out));
  fold.gradients = std::vector<float>{1, 2};
  EXPECT_FALSE(pushes_.Admit(fold, parts_.out));
  const auto refused = parts_.Sent<PushRefused>();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].second.status.code(), StatusCode::kInvalidArgument);
}

TEST_F(RowPushesTest, AFoldThatBeginsARowAfterARecoveryBeginsItInItsEra) {
  parts_.AdoptChanged([](ShardMap& map) { map.recoveries = 3; });
  pushes_.Apply(FoldOf(1, {7}, {5}), parts_.out);
  EXPECT_EQ(NodeParts::VersionOf(parts_.rows(), 7), RowVersion(3, 5));
}

}  // namespace
}  // namespace attune::ps::row_pushes_test
