#include "ps/core/rows/state/duplicate_filter.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <map>
#include <set>

#include "base/random.h"
#include "ps/core/protocol/limits.h"
#include "tests/base/seeds.h"

namespace attune::ps::duplicate_filter_test {
namespace {

using enum DuplicateFilter::Decision;
using Held = DuplicateFilter::Held;

constexpr TableId kTable(1);

std::vector<Key> Keys(size_t count) {
  std::vector<Key> keys(count);
  for (size_t i = 0; i < count; ++i) keys[i] = 100 + i;
  return keys;
}

TEST(DuplicateFilter, RecordsTravelWithTheirRows) {
  DuplicateFilter source, target;
  const std::vector<Key> keys = Keys(4);
  source.Record(NodeId(7), SequenceNumber(3), kTable, {.first = 10, .count = 4, .list = {}}, keys, kApplied);
  source.Record(NodeId(8), SequenceNumber(1), kTable, {.first = 0, .count = 1, .list = {}}, std::span(keys).first(1),
                kRefused);
  source.Record(NodeId(7), SequenceNumber(4), TableId(2), {.first = 0, .count = 4, .list = {}}, keys, kApplied);
  source.Record(NodeId(7), SequenceNumber(3), kTable, {.first = 10, .count = 1, .list = {}}, std::span(keys).first(1),
                kApplied, Held::kCopy);

  const std::vector<Key> leaving = {keys[2], keys[0]};
  std::vector<FilterRecord> records;
  source.Collect(kTable, leaving, Held::kRow, true, records);
  EXPECT_EQ(records.size(), 3U);
  target.Add(kTable, leaving, records, Held::kRow);

  EXPECT_EQ(source.Find(NodeId(7), SequenceNumber(3), 10), kOpen) << "its row has left";
  EXPECT_EQ(source.Find(NodeId(7), SequenceNumber(3), 11), kApplied) << "its row has stayed";
  EXPECT_EQ(source.Find(NodeId(7), SequenceNumber(3), 10, Held::kCopy), kApplied) << "the copy has stayed";
  EXPECT_EQ(source.Find(NodeId(7), SequenceNumber(4), 0), kApplied) << "another table's row of that key";
  EXPECT_EQ(target.Find(NodeId(7), SequenceNumber(3), 10), kApplied);
  EXPECT_EQ(target.Find(NodeId(7), SequenceNumber(3), 12), kApplied);
  EXPECT_EQ(target.Find(NodeId(7), SequenceNumber(3), 11), kOpen);
  EXPECT_EQ(target.Find(NodeId(8), SequenceNumber(1), 0), kRefused);

  records.clear();
  target.Collect(kTable, leaving, Held::kRow, true, records);
  EXPECT_EQ(records.size(), 3U) << "and further";
  EXPECT_EQ(target.records(), 0U);
}

// Two records with far positions once took 512 MB.
TEST(DuplicateFilter, FarPositionsTakeNoMoreMemoryThanNearOnes) {
  const auto bytes_of = [](uint32_t far) {
    const size_t before = mallinfo2().uordblks;
    DuplicateFilter filter;
    const std::vector<Key> keys = Keys(2);
    for (uint64_t sequence = 1; sequence <= kPushWindowMax; ++sequence) {
      const std::vector<FilterRecord> records = {
          {.sequence = SequenceNumber(sequence), .origin = NodeId(7), .position = 0, .key_index = 0},
          {.sequence = SequenceNumber(sequence), .origin = NodeId(7), .position = far, .key_index = 1}};
      filter.Add(kTable, keys, records, Held::kRow);
    }
    EXPECT_EQ(filter.Find(NodeId(7), SequenceNumber(9), far), kApplied);
    return mallinfo2().uordblks - before;
  };
  EXPECT_LT(bytes_of(kKeysPerCallMax - 1), bytes_of(1) + size_t{kPushWindowMax} * 512);
}

TEST(DuplicateFilter, RecordsBeyondTheWindowOfTheirOriginAreNotKept) {
  DuplicateFilter filter;
  const std::vector<Key> keys = Keys(1);
  filter.MergeAckedBelow(NodeId(7), SequenceNumber(10));
  for (const uint64_t sequence : {uint64_t{10} + kPushWindowMax, uint64_t{11} + kPushWindowMax, uint64_t{10}}) {
    const FilterRecord record{.sequence = SequenceNumber(sequence), .origin = NodeId(7)};
    filter.Add(kTable, keys, {&record, 1}, Held::kRow);
  }
  EXPECT_EQ(filter.Find(NodeId(7), SequenceNumber(10 + kPushWindowMax), 0), kApplied);
  EXPECT_EQ(filter.records(), 1U) << "the others are settled, or cannot have been sent";
}

TEST(DuplicateFilter, AKeyThatIsDecidedStaysAsItIs) {
  DuplicateFilter filter;
  const std::vector<Key> keys = Keys(2);
  filter.Record(NodeId(7), SequenceNumber(3), kTable, {.first = 511, .count = 2, .list = {}}, keys, kApplied);
  filter.Record(NodeId(7), SequenceNumber(3), kTable, {.first = 511, .count = 2, .list = {}}, keys, kRefused);
  EXPECT_EQ(filter.Find(NodeId(7), SequenceNumber(3), 512), kApplied);
  std::vector<FilterRecord> records;
  filter.Collect(kTable, keys, Held::kRow, true, records);
  EXPECT_EQ(records.size(), 2U);
  filter.DropIf(Held::kRow, [](TableId, Key) { return true; });
  EXPECT_EQ(filter.records(), 0U) << "counted once";
}

TEST(DuplicateFilter, TellsEachPeerWhatIsNewToIt) {
  DuplicateFilter filter;
  uint64_t reported = 0;
  std::vector<Settled> news;
  filter.MergeAckedBelow(NodeId(1), SequenceNumber(5));
  filter.NewsSince(reported, news);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].acked_below, SequenceNumber(5));
  filter.MergeAckedBelow(NodeId(1), SequenceNumber(4));
  filter.MergeAckedBelow(NodeId(2), SequenceNumber(1));
  news.clear();
  filter.NewsSince(reported, news);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].origin, NodeId(2));
}

TEST(DuplicateFilter, ForgetsWhatTheOriginHasSettled) {
  DuplicateFilter filter;
  const NodeId origin(7);
  filter.Record(origin, SequenceNumber(1), kTable, {.first = 0, .count = 3, .list = {}}, Keys(3), kApplied);
  filter.Record(origin, SequenceNumber(2), kTable, {.first = 0, .count = 1, .list = {}}, Keys(1), kRefused);
  EXPECT_EQ(filter.records(), 2U);
  EXPECT_TRUE(filter.MergeAckedBelow(origin, SequenceNumber(1)));
  EXPECT_FALSE(filter.MergeAckedBelow(origin, SequenceNumber(1)));
  EXPECT_TRUE(filter.Covered(origin, SequenceNumber(1)));
  EXPECT_FALSE(filter.Covered(origin, SequenceNumber(2)));
  EXPECT_EQ(filter.records(), 1U);
  EXPECT_EQ(filter.Find(origin, SequenceNumber(2), 0), kRefused);
  filter.ForgetIf([&](NodeId node) { return node == origin; });
  EXPECT_EQ(filter.records(), 0U);
  EXPECT_FALSE(filter.Covered(origin, SequenceNumber(1)));
}

TEST(DuplicateFilter, AgreesWithASetUnderRandomPieces) {
  ForSeeds(1, [](uint64_t seed) {
    Random random(seed);
    constexpr uint32_t kPositions = 700;
    for (int round = 0; round < 50; ++round) {
      DuplicateFilter filter;
      std::map<uint32_t, DuplicateFilter::Decision> twin;
      for (int piece = 0; piece < 12; ++piece) {
        Positions positions;
        if (random.Chance(0.5)) {
          positions.first = static_cast<uint32_t>(random.Below(kPositions - 100));
          positions.count = static_cast<uint32_t>(1 + random.Below(100));
        } else {
          std::set<uint32_t> some;
          for (int i = 0; i < 20; ++i) some.insert(static_cast<uint32_t>(random.Below(kPositions)));
          positions.list.assign(some.begin(), some.end());
        }
        // As the server does: only keys that are open are decided.
        Positions open;
        for (size_t i = 0; i < positions.size(); ++i) {
          if (!twin.contains(positions.At(i))) open.list.push_back(positions.At(i));
        }
        const auto decision = random.Chance(0.7) ? kApplied : kRefused;
        for (const uint32_t position : open.list) twin[position] = decision;
        filter.Record(NodeId(1), SequenceNumber(5), kTable, open.list.size() == positions.size() ? positions : open,
                      Keys(open.list.size()), decision);
        for (uint32_t position = 0; position < kPositions + 100; ++position) {
          const auto expected = twin.contains(position) ? twin[position] : kOpen;
          ASSERT_EQ(filter.Find(NodeId(1), SequenceNumber(5), position), expected) << "position " << position;
        }
      }
    }
  });
}

}  // namespace
}  // namespace attune::ps::duplicate_filter_test
