#include "ps/core/rows/row_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_snapshot_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr NodeId kPeer = NodeParts::kPeer, kWorker = NodeParts::kWorker;
constexpr TableId kTable = NodeParts::kTable;
constexpr CutId kBefore{1}, kCut{2}, kLater{3};

class RowSnapshotTest : public testing::Test {
 protected:
  static RowBatch BatchOf(Key key) {
    return {.table = kTable,
            .keys = std::vector<Key>{key},
            .versions = std::vector<RowVersion>{RowVersion(0, 1)},
            .move_numbers = std::vector<uint16_t>{1},
            .values = std::vector<float>{5}};
  }
  static Records RecordOf(uint64_t sequence) {
    return {.records = {{.sequence = SequenceNumber(sequence), .origin = kWorker}}, .settled = {}};
  }
  static Handover HandoverOf(Key key, CutId mark) {
    return {.map_version = {}, .handover = 1, .mark = mark, .rows = BatchOf(key), .records = RecordOf(key)};
  }
  static SnapshotRows RowsOf(Key key, CutId cut) {
    SnapshotRows rows{.map_version = {}, .cut = cut, .number = 6};
    rows.rows = BatchOf(key);
    rows.records = RecordOf(key);
    return rows;
  }
  std::vector<Key> KeysInSnapshot() {
    std::vector<Key> keys;
    while (parts_.rows().NextRows(10, [&](const RowView& row, bool) { keys.push_back(row.key); })) {
    }
    return keys;
  }
  void Create(const std::vector<Key>& keys) { ASSERT_TRUE(parts_.rows().CreateRows(keys, RowVersion(0, 1)).ok()); }

  NodeParts parts_;
  RowSnapshot snapshot_{parts_.node, parts_.tables, parts_.records};
  OpenHandovers handovers_;
};

TEST_F(RowSnapshotTest, HasTheRowsAtTheMarkAndThoseThatWereSentBeforeTheirSendersMark) {
  Create({7});
  ASSERT_TRUE(snapshot_.Begin(kCut, 1, parts_.out).ok());
  EXPECT_TRUE(snapshot_.TakesTables());
  Create({8});
  EXPECT_EQ(snapshot_.Add(HandoverOf(9, kBefore), 1, parts_.out), 0U);
  snapshot_.Add(HandoverOf(10, kCut), 1, parts_.out);
  EXPECT_THAT(KeysInSnapshot(), UnorderedElementsAre(7, 9));
  const FilterRecords filter = snapshot_.Seal();
  ASSERT_THAT(filter.pushes, SizeIs(1));
  EXPECT_EQ(filter.pushes[0].sequence, 9U);
}

TEST_F(RowSnapshotTest, NothingIsAddedOnceItIsSealed) {
  ASSERT_TRUE(snapshot_.Begin(kCut, 1, parts_.out).ok());
  snapshot_.Seal();
  snapshot_.Add(HandoverOf(9, kBefore), 1, parts_.out);
  snapshot_.Take(kPeer, RowsOf(8, kCut), parts_.out);
  EXPECT_THAT(KeysInSnapshot(), IsEmpty());
}

TEST_F(RowSnapshotTest, IsSettledWhenHandoversFromBeforeTheMarkHaveArrived) {
  EXPECT_FALSE(snapshot_.IsSettled(handovers_)) << "none is open";
  const uint64_t before = handovers_.Add({.to = kPeer});
  ASSERT_TRUE(snapshot_.Begin(kCut, handovers_.next(), parts_.out).ok());
  handovers_.Add({.to = kPeer});
  EXPECT_FALSE(snapshot_.IsSettled(handovers_));
  handovers_.Take(before, kPeer);
  EXPECT_TRUE(snapshot_.IsSettled(handovers_));
}

TEST_F(RowSnapshotTest, RowsThatComeBeforeTheMarkAreAddedWithIt) {
  snapshot_.Take(kPeer, RowsOf(8, kCut), parts_.out);
  EXPECT_THAT(parts_.Sent<SnapshotRowsAck>(), SizeIs(1));
  ASSERT_TRUE(snapshot_.Begin(kCut, 1, parts_.out).ok());
  EXPECT_THAT(KeysInSnapshot(), ElementsAre(8));
}

TEST_F(RowSnapshotTest, RowsOfACutThatWasCalledOffAreForgottenWithTheNext) {
  snapshot_.Take(kPeer, RowsOf(8, kCut), parts_.out);
  snapshot_.Take(kPeer, RowsOf(9, kLater), parts_.out);
  ASSERT_TRUE(snapshot_.Begin(kLater, 1, parts_.out).ok());
  EXPECT_THAT(KeysInSnapshot(), ElementsAre(9));
}

TEST_F(RowSnapshotTest, AfterItsEndAnotherMayBegin) {
  ASSERT_TRUE(snapshot_.Begin(kCut, 1, parts_.out).ok());
  EXPECT_THAT(snapshot_.End(true), IsEmpty());
  EXPECT_FALSE(snapshot_.TakesTables());
  EXPECT_TRUE(snapshot_.Begin(kLater, 1, parts_.out).ok());
  EXPECT_EQ(snapshot_.mark(), kLater);
}

TEST_F(RowSnapshotTest, ANodeThatCameLaterHasTheMarkFromItsMap) {
  snapshot_.LearnMarked(kCut);
  EXPECT_EQ(snapshot_.mark(), kCut);
  snapshot_.LearnMarked(kBefore);
  EXPECT_EQ(snapshot_.mark(), kCut);
}

class RowSnapshotGoesHomeTest : public testing::Test {
 protected:
  RowSnapshotGoesHomeTest() {
    parts_.AdoptChanged([](ShardMap& map) {
      for (Shard& shard : map.shards) shard.home = kPeer;
    });
    const std::vector<Key> keys{7};
    EXPECT_TRUE(parts_.rows().CreateRows(keys, RowVersion(0, 1)).ok());
  }
  uint64_t SentNumber() {
    const auto sent = parts_.Sent<SnapshotRows>();
    EXPECT_THAT(sent, SizeIs(1));
    return sent.empty() ? 0 : sent[0].second.number;
  }

  NodeParts parts_{{.snapshots_go_home = true}};
  RowSnapshot snapshot_{parts_.node, parts_.tables, parts_.records};
  OpenHandovers no_handovers_;
};

TEST_F(RowSnapshotGoesHomeTest, IsSettledWhenItsHomeHasTheRows) {
  ASSERT_TRUE(snapshot_.Begin(kCut, 1, parts_.out).ok());
  EXPECT_FALSE(snapshot_.TakesTables());
  EXPECT_FALSE(snapshot_.IsSettled(no_handovers_));
  const SnapshotRowsAck ack{.map_version = {}, .cut = kCut, .number = SentNumber()};
  EXPECT_EQ(snapshot_.Answered(ack), 0U) << "no acknowledgement waits for it";
  EXPECT_TRUE(snapshot_.IsSettled(no_handovers_));
  EXPECT_FALSE(snapshot_.Answered(ack).has_value());
}

TEST_F(RowSnapshotGoesHomeTest, AnAcknowledgementWaitsUntilTheHomeHasARowThatArrivedUnmarked) {
  ASSERT_TRUE(snapshot_.Begin(kCut, 1, parts_.out).ok());
  parts_.out.send.clear();
  Handover handover{.map_version = {}, .handover = 1, .mark = kBefore, .rows = {}, .records = {}};
  const std::vector<Key> keys{7};
  handover.rows = parts_.tables.Gather(parts_.rows(), kTable, keys);
  EXPECT_EQ(snapshot_.Add(handover, 5, parts_.out), 1U);
  EXPECT_EQ(snapshot_.Answered({.map_version = {}, .cut = kCut, .number = SentNumber()}), 5U);
  snapshot_.Add(handover, 6, parts_.out);
  EXPECT_THAT(snapshot_.End(false), ElementsAre(6)) << "its answer will not come any more";
}

}  // namespace
}  // namespace attune::ps::row_snapshot_test
