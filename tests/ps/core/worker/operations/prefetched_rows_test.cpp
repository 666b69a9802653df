#include "ps/core/worker/operations/prefetched_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <vector>

namespace attune::ps::prefetched_rows_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using Found = PrefetchedRows::Found;

constexpr TableId kTable{1};
constexpr uint32_t kDim = 2;

class PrefetchedRowsTest : public testing::Test {
 protected:
  CallId Begin(std::vector<Key> keys, uint64_t floor = 0) {
    const auto [fetch, rows] =
        rows_.Begin(kTable, kDim, keys, {.at = now_, .age_max = milliseconds(100), .floor = floor});
    for (size_t i = 0; i < keys.size(); ++i)
      std::ranges::fill(rows.subspan(i * kDim, kDim), static_cast<float>(keys[i]));
    return fetch;
  }
  void Arrive(CallId fetch) {
    given_.clear();
    rows_.Arrived(fetch, now_, [&](const PrefetchedRows::Waiter& waiter, TableKey, std::span<const float> row) {
      given_.push_back({static_cast<double>(waiter.call.value()), static_cast<double>(waiter.place), row[0]});
    });
  }
  Found Find(Key key, uint64_t floor_needed = 0) { return rows_.Find({kTable, key}, now_, floor_needed, values_); }

  PrefetchedRows rows_{{.bytes_max = 10'000}};
  MonotonicTime now_{std::chrono::seconds(5)};
  std::span<const float> values_;
  std::vector<std::array<double, 3>> given_;  // call, place, value
};

TEST_F(PrefetchedRowsTest, ARowIsComingThenHereThenDropped) {
  EXPECT_EQ(Find(7), Found::kNot);
  const CallId fetch = Begin({7, 8});
  EXPECT_TRUE(PrefetchedRows::IsFetch(fetch));
  EXPECT_EQ(Find(7), Found::kComing);
  Arrive(fetch);
  EXPECT_EQ(Find(8), Found::kHere);
  EXPECT_THAT(values_, ElementsAre(8, 8));
  rows_.Drop({kTable, 8});
  EXPECT_EQ(Find(8), Found::kNot);
  EXPECT_EQ(Find(7), Found::kHere);
  EXPECT_GT(rows_.bytes(), 0U);
  rows_.Drop({kTable, 7});
  EXPECT_EQ(rows_.bytes(), 0U) << "the block goes with its last row";
}

TEST_F(PrefetchedRowsTest, WhatIsTooOldOrWasAskedForTooEarlyIsNeverReadAgain) {
  Arrive(Begin({1}));
  Arrive(Begin({2}, /*floor=*/3));
  EXPECT_EQ(Find(2, 3), Found::kHere);
  EXPECT_EQ(Find(2, 4), Found::kNot);
  EXPECT_EQ(Find(2, 3), Found::kNot) << "what is read instead may be newer";
  now_ += milliseconds(100);
  EXPECT_EQ(Find(1), Found::kHere);
  now_ += milliseconds(1);
  EXPECT_EQ(Find(1), Found::kNot);
  now_ -= milliseconds(1);
  EXPECT_EQ(Find(1), Found::kNot);
}

TEST_F(PrefetchedRowsTest, CallsThatWaitGetTheirRowsAlsoWhenThoseAreDropped) {
  const CallId fetch = Begin({5, 6});
  rows_.Wait({kTable, 6}, CallId(1), 3);
  rows_.Wait({kTable, 5}, CallId(2), 0);
  rows_.Drop({kTable, 6});
  rows_.DropAll();
  EXPECT_EQ(Find(5), Found::kNot);
  Arrive(fetch);
  EXPECT_THAT(given_, ElementsAre(ElementsAre(1, 3, 6), ElementsAre(2, 0, 5)));
  EXPECT_EQ(rows_.bytes(), 0U);
}

TEST_F(PrefetchedRowsTest, ARowThatIsAskedForAgainIsNotTakenFromTheFetchBefore) {
  const CallId before = Begin({5});
  rows_.Drop({kTable, 5});
  const CallId after = Begin({5});
  Arrive(before);
  EXPECT_EQ(Find(5), Found::kComing);
  Arrive(after);
  EXPECT_EQ(Find(5), Found::kHere);
}

TEST_F(PrefetchedRowsTest, AFetchThatFailsNamesWhoWaitsAndLeavesNothing) {
  const CallId fetch = Begin({5, 6});
  rows_.Wait({kTable, 6}, CallId(1), 3);
  const PrefetchedRows::Block block = rows_.Failed(fetch);
  ASSERT_EQ(block.waiters.size(), 1U);
  EXPECT_EQ(block.keys[block.waiters[0].at], 6U);
  EXPECT_TRUE(rows_.empty());
  EXPECT_EQ(rows_.bytes(), 0U);
  EXPECT_EQ(rows_.coming(), 0U);
}

TEST_F(PrefetchedRowsTest, WhatIsHereOrComingOrNamedTwiceIsAskedForOnce) {
  Arrive(Begin({5}));
  Begin({6});
  std::vector<Key> keys = {5, 7, 6, 7, 8};
  const auto [fetch, rows] = rows_.Begin(kTable, kDim, keys, {.at = now_, .age_max = milliseconds(100), .floor = 0});
  EXPECT_THAT(keys, ElementsAre(7, 8));
  EXPECT_EQ(rows.size(), 2 * kDim);
  keys = {5, 6};
  const size_t bytes = rows_.bytes();
  rows_.Begin(kTable, kDim, keys, {});
  EXPECT_TRUE(keys.empty());
  EXPECT_EQ(rows_.bytes(), bytes);
}

TEST_F(PrefetchedRowsTest, MemoryIsBounded) {
  EXPECT_TRUE(rows_.HasRoom(100, kDim));
  EXPECT_FALSE(rows_.HasRoom(200, kDim));
  std::vector<Key> keys(100);
  std::iota(keys.begin(), keys.end(), 0);
  const CallId fetch = Begin(keys);
  EXPECT_FALSE(rows_.HasRoom(100, kDim));
  Arrive(fetch);
  rows_.DropAll();
  EXPECT_TRUE(rows_.HasRoom(100, kDim));
}

}  // namespace
}  // namespace attune::ps::prefetched_rows_test
