#include "ps/store/row_index.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace attune::ps {
namespace {

class KeyedIndex {
 public:
  void Insert(Key key) { index_.Insert(key, RowIndex::Hash(key), count_++); }
  uint32_t Find(Key key) const { return index_.Find(key, RowIndex::Hash(key)); }
  const RowIndex& index() const { return index_; }
  double BytesPerRow() const { return static_cast<double>(index_.memory_bytes()) / static_cast<double>(count_); }

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

// As if the hash were as bad as can be: all keys want the last bucket of one part, so they wrap around its end.
TEST(RowIndex, EqualHashesAreToldApartByTheirKeys) {
  RowIndex index;
  const uint64_t hash = ~uint64_t{0};
  constexpr uint32_t kSame = 12;  // three buckets, below the first growth
  for (uint32_t slot = 0; slot < kSame; ++slot) index.Insert(Key{slot}, hash, slot);
  for (uint32_t slot = 0; slot < kSame; ++slot) EXPECT_EQ(index.Find(Key{slot}, hash), slot);
  EXPECT_EQ(index.Find(Key{kSame}, hash), RowIndex::kAbsent);
}

TEST(RowIndex, BytesPerRowStayEvenWhileItGrows) {
  KeyedIndex index;
  uint64_t key = 0;
  for (uint64_t rows = 20'000; rows <= 400'000; rows = rows * 11 / 10) {
    while (key < rows) index.Insert(SplitMix64(key++));
    EXPECT_LT(index.BytesPerRow(), 20.5) << rows << " rows";
    EXPECT_GT(index.BytesPerRow(), 15.0) << rows << " rows";
  }
}

}  // namespace
}  // namespace attune::ps
