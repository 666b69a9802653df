#include "ps/core/rows/state/row_records.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::row_records_test {
namespace {

constexpr TableId kTable{1};
constexpr NodeId kWorker{4}, kStranger{9}, kPeer{2};
constexpr DuplicateFilter::Decision kApplied = DuplicateFilter::Decision::kApplied;
const std::vector<Key> kKeys{7};

ShardMap MapWith(const std::vector<NodeId>& nodes) {
  ShardMap map;
  for (const NodeId node : nodes) map.members.push_back({.node = node});
  return map;
}

class RowRecordsTest : public testing::Test {
 protected:
  // A push of the only key, which lies at position 0.
  void Record(NodeId origin, uint64_t sequence) {
    records_.filter().Record(origin, SequenceNumber(sequence), kTable, {.first = 0, .count = 1, .list = {}}, kKeys,
                             kApplied);
  }
  bool Knows(NodeId origin, uint64_t sequence) const {
    return records_.filter().HasRecord(origin, SequenceNumber(sequence));
  }

  const ShardMap map_ = MapWith({kPeer, kWorker});
  RowRecords records_;
};

TEST_F(RowRecordsTest, RecordsLeaveWithTheirRowOrStayBesideACopy) {
  Record(kWorker, 5);
  EXPECT_EQ(records_.Of(kTable, kKeys, RowRecords::Held::kRow, false, kPeer).records.size(), 1U);
  EXPECT_TRUE(Knows(kWorker, 5));
  EXPECT_EQ(records_.Of(kTable, kKeys, RowRecords::Held::kRow, true, kPeer).records.size(), 1U);
  EXPECT_FALSE(Knows(kWorker, 5));
}

TEST_F(RowRecordsTest, EachPeerIsInformedOnceOfWhatHasBeenSettled) {
  records_.filter().MergeAckedBelow(kWorker, SequenceNumber(3));
  EXPECT_EQ(records_.Of(kTable, {}, RowRecords::Held::kRow, false, kPeer).settled.size(), 1U);
  EXPECT_TRUE(records_.Of(kTable, {}, RowRecords::Held::kRow, false, kPeer).settled.empty());
  EXPECT_EQ(records_.Of(kTable, {}, RowRecords::Held::kRow, false, kStranger).settled.size(), 1U);
}

TEST_F(RowRecordsTest, OnlyWhatIsAboutMembersIsTaken) {
  records_.Add(kTable, kKeys,
               std::vector<FilterRecord>{{.sequence = SequenceNumber(5), .origin = kWorker},
                                         {.sequence = SequenceNumber(6), .origin = kStranger}},
               RowRecords::Held::kRow, map_);
  EXPECT_TRUE(Knows(kWorker, 5));
  EXPECT_FALSE(Knows(kStranger, 6));
  Records settled;
  settled.settled = {{.origin = kWorker, .acked_below = SequenceNumber(5)},
                     {.origin = kStranger, .acked_below = SequenceNumber(6)}};
  records_.Learn(settled, map_);
  EXPECT_EQ(records_.filter().AckedBelow(kWorker), SequenceNumber(5));
  EXPECT_EQ(records_.filter().AckedBelow(kStranger), SequenceNumber());
}

TEST_F(RowRecordsTest, ARemovedNodeLeavesNothing) {
  Record(kWorker, 5);
  Record(kStranger, 6);
  records_.ForgetRemoved(map_);
  EXPECT_TRUE(Knows(kWorker, 5));
  EXPECT_FALSE(Knows(kStranger, 6));
}

}  // namespace
}  // namespace attune::ps::row_records_test
