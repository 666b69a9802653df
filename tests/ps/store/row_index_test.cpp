#include "ps/store/row_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "tests/ps/store/key_of_hash.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::row_index_test {
namespace {

class KeyedIndex {
 public:
  void Insert(Key key) { ASSERT_TRUE(index_.Insert(key, RowIndex::Hash(key), count_++)); }
  uint32_t Erase(Key key) { return index_.Erase(key, RowIndex::Hash(key)); }
  uint32_t Find(Key key) const { return index_.Find(key, RowIndex::Hash(key)); }
  const RowIndex& index() const { return index_; }

 private:
  RowIndex index_;
  uint32_t count_ = 0;
};

TEST(RowIndex, FindsEveryKeyThroughAllGrowthsAndNoOther) {
  KeyedIndex index;
  constexpr uint32_t kKeys = 200'000;
  for (uint32_t i = 0; i < kKeys; ++i) index.Insert(Key{i} * 3);
  for (uint32_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(index.Find(Key{i} * 3), i);
    ASSERT_EQ(index.Find(Key{i} * 3 + 1), RowIndex::kAbsent);
  }
}

TEST(RowIndex, EmptyIndexFindsNothing) {
  EXPECT_EQ(KeyedIndex().Find(0), RowIndex::kAbsent);
  EXPECT_EQ(KeyedIndex().Find(~Key{0}), RowIndex::kAbsent);
}

TEST(RowIndex, ForEachVisitsEveryKeyOnce) {
  KeyedIndex index;
  constexpr uint32_t kKeys = 10'000;
  for (uint32_t i = 0; i < kKeys; ++i) index.Insert(Key{i} << 40);
  std::vector<int> visits(kKeys);
  index.index().ForEach([&](Key key, uint32_t slot) {
    EXPECT_EQ(key, Key{slot} << 40);
    ++visits[slot];
  });
  EXPECT_EQ(visits, std::vector<int>(kKeys, 1));
}

// Keys chosen so that all want the last bucket of one leaf: they wrap around its end, and the tree cannot distinguish
// them apart.
TEST(RowIndex, KeysWithTheSameHashBitsAreFoundAndErased) {
  KeyedIndex index;
  constexpr uint32_t kSame = 12'000;  // more than a leaf may have before it is split
  const auto key = [](uint32_t i) { return KeyOfHash(~uint64_t{0} - i % 7); };
  const auto near = [](uint32_t i) { return KeyOfHash((~uint64_t{0} << 34) | (uint64_t{i} << 3)); };
  for (uint32_t i = 0; i < 7; ++i) index.Insert(key(i));
  for (uint32_t i = 0; i < kSame; ++i) index.Insert(near(i));
  for (uint32_t i = 0; i < 7; ++i) EXPECT_EQ(index.Find(key(i)), i);
  for (uint32_t i = 0; i < kSame; i += 3) EXPECT_EQ(index.Erase(near(i)), i + 7);
  for (uint32_t i = 0; i < kSame; ++i) ASSERT_EQ(index.Find(near(i)), i % 3 == 0 ? RowIndex::kAbsent : i + 7);
}

TEST(RowIndex, ErasingLeavesEveryOtherKeyFindable) {
  Random random(TestSeed("60,000 keys, 40,000 erased"));
  KeyedIndex index;
  std::vector<uint32_t> present(60'000);
  for (uint32_t i = 0; i < present.size(); ++i) {
    index.Insert(Key{i});
    present[i] = 1;
  }
  for (int erased = 0; erased < 40'000; ++erased) {
    const uint64_t i = random.Below(present.size());
    ASSERT_EQ(index.Erase(Key{i}), present[i] == 1 ? i : RowIndex::kAbsent);
    present[i] = 0;
  }
  for (uint32_t i = 0; i < present.size(); ++i) {
    ASSERT_EQ(index.Find(Key{i}), present[i] == 1 ? i : RowIndex::kAbsent);
  }
}

TEST(RowIndex, ARangeOfHashesIsVisitedCompletelyAndAlone) {
  Random random(TestSeed("50,000 keys, 200 ranges"));
  KeyedIndex index;
  std::vector<uint64_t> hashes;
  for (uint32_t i = 0; i < 50'000; ++i) {
    index.Insert(Key{i});
    hashes.push_back(RowIndex::Hash(i));
  }
  std::ranges::sort(hashes);
  for (int i = 0; i < 200; ++i) {
    const uint64_t first = random.Next() >> random.Below(3);
    const uint64_t last = random.Chance(0.1) ? ~uint64_t{0} : first + (random.Next() >> random.Below(40));
    if (last < first) continue;
    std::vector<uint64_t> found;
    index.index().ForEachInRange(first, last, [&](Key key, uint32_t) { found.push_back(RowIndex::Hash(key)); });
    std::ranges::sort(found);
    const auto begin = std::ranges::lower_bound(hashes, first), end = std::ranges::upper_bound(hashes, last);
    ASSERT_EQ(found, std::vector<uint64_t>(begin, end)) << first << " .. " << last;
  }
}

TEST(RowIndex, BytesPerRowStayEvenWhileItGrows) {
  KeyedIndex index;
  constexpr double kBlock = 2 << 20;  // memory comes in blocks; the last one may be nearly empty
  uint64_t key = 0;
  for (uint64_t rows = 20'000; rows <= 2'000'000; rows = rows * 12 / 10) {
    while (key < rows) index.Insert(SplitMix64(key++));
    const auto bytes = static_cast<double>(index.index().memory_bytes());
    const double last_block = bytes > kBlock ? kBlock : 0;
    EXPECT_LT((bytes - last_block) / static_cast<double>(rows), 20.0) << rows << " rows";
    EXPECT_GT(bytes / static_cast<double>(rows), 13.0) << rows << " rows";
  }
}

TEST(RowIndex, AnEmptyOneTakesLittle) { EXPECT_LT(RowIndex().memory_bytes(), 2048U); }

}  // namespace
}  // namespace attune::ps::row_index_test
