#include "ps/core/intent/announced_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace attune::ps::announced_rows_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr TableId kTable{1}, kOther{2};

class AnnouncedRowsTest : public testing::Test {
 protected:
  // `steps` a second.
  explicit AnnouncedRowsTest(int steps = 100) { Go(64, milliseconds(1000) / steps); }

  void Go(int count, Duration step) {
    for (int i = 0; i < count; ++i) {
      rows_.StepBegan(now_);
      rows_.StepEnded(now_ += step);
    }
  }
  // One row for each of the steps, with the step's number as its key.
  void AnnounceEachStep(uint64_t from, uint64_t to, TableId table = kTable, Duration age_max = seconds(1)) {
    for (uint64_t step = from; step <= to; ++step) {
      const std::vector<Key> keys = {step};
      rows_.Add(table, keys, step, step + 1, Access::kReadWrite, age_max, {});
    }
  }

  AnnouncedRows rows_{1000};
  MonotonicTime now_{};
};

TEST_F(AnnouncedRowsTest, RowsOfAsManyStepsAreDueAsAFetchTakes) {
  AnnounceEachStep(1, 30);
  EXPECT_THAT(rows_.Advance({}).due, ElementsAre(Pair(kTable, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9))))
      << "10 ms at 100 steps a second: a mean of two";
  EXPECT_THAT(rows_.Advance({}).due, IsEmpty()) << "each once";
  EXPECT_THAT(rows_.Advance({.clock = 1}).due, ElementsAre(Pair(kTable, ElementsAre(10))));
  for (int i = 0; i < 256; ++i) rows_.Fetched(milliseconds(40));
  EXPECT_THAT(rows_.Advance({.clock = 1}).due, ElementsAre(Pair(kTable, ElementsAre(11, 12, 13, 14, 15, 16))))
      << "a mean of five";
}

TEST_F(AnnouncedRowsTest, NothingIsFetchedThatWouldBeTooOldWhenItIsUsed) {
  AnnounceEachStep(1, 30, kTable, milliseconds(60));
  EXPECT_THAT(rows_.Advance({}).due, ElementsAre(Pair(kTable, ElementsAre(1, 2, 3)))) << "30 ms, half of that age";
  Go(64 * 16, seconds(2));
  EXPECT_THAT(rows_.Advance({.clock = 1}).due, IsEmpty()) << "steps of two seconds: the next one is too far";
}

TEST_F(AnnouncedRowsTest, TheTableOfTheYoungestRowsDecidesForAll) {
  AnnounceEachStep(1, 9);
  AnnounceEachStep(1, 9, kOther, milliseconds(40));
  EXPECT_THAT(rows_.Advance({}).due, ElementsAre(Pair(kTable, ElementsAre(1, 2)), Pair(kOther, ElementsAre(1, 2))));
}

TEST_F(AnnouncedRowsTest, ATableWhoseRowsMustAlwaysBeAskedForIsLeftAlone) {
  AnnounceEachStep(1, 9, kOther, Duration::zero());
  EXPECT_THAT(rows_.Advance({}).due, IsEmpty());
  EXPECT_EQ(rows_.AgeMaxOf(kOther), std::nullopt);
}

TEST_F(AnnouncedRowsTest, ThePaceSaysHowFarAheadRowsMayBeRead) {
  AnnounceEachStep(1, 30);
  EXPECT_THAT(rows_.Advance({.step = 50, .mode = SyncMode::Bsp(), .floor = 50}).due, IsEmpty());
  EXPECT_THAT(rows_.Advance({.step = 50, .mode = SyncMode::Ssp(4), .floor = 48}).due,
              ElementsAre(Pair(kTable, ElementsAre(1, 2))));
  EXPECT_THAT(rows_.Advance({.step = 50, .mode = SyncMode::Ssp(4), .floor = 46}).due, IsEmpty());
  EXPECT_THAT(rows_.Advance({.step = 50, .mode = SyncMode::Ssp(1), .floor = 60}).due,
              ElementsAre(Pair(kTable, ElementsAre(3, 4, 5, 6, 7, 8, 9))))
      << "others are far ahead: no farther than a fetch takes";
}

// --- copies

std::vector<Key> KeysOf(const std::vector<TableKey>& rows) {
  std::vector<Key> keys;
  for (const TableKey row : rows) keys.push_back(row.key);
  return keys;
}

TEST_F(AnnouncedRowsTest, RowsThatSeveralStepsWithinReachTouchAreNamed) {
  const auto add = [&](TableId table, Key key, uint64_t begin, uint64_t end, Duration age_max) {
    rows_.Add(table, std::vector<Key>{key}, begin, end, Access::kReadWrite, age_max, {});
  };
  add(kTable, 1, 1, 2, seconds(1));
  add(kTable, 2, 1, 4, seconds(1));
  add(kTable, 3, 1, 2, seconds(1));
  add(kTable, 3, 2, 3, seconds(1));
  add(kTable, 4, 1, 2, seconds(1));
  add(kTable, 4, 20, 22, seconds(1));
  add(kOther, 5, 1, 4, Duration::zero());
  EXPECT_THAT(KeysOf(rows_.Advance({}).repeated), ElementsAre(2, 3))
      << "not 4, of which the second use is far, nor 5, whose table permits no copies";
  EXPECT_THAT(rows_.Advance({}).repeated, IsEmpty()) << "each use once";
  EXPECT_THAT(KeysOf(rows_.Advance({.clock = 15}).repeated), ElementsAre(4));
}

TEST_F(AnnouncedRowsTest, RowsThatNoStepWithinReachTouchesAnyMoreAreNamed) {
  AnnounceEachStep(1, 2);
  AnnounceEachStep(2, 2, kOther, Duration::zero());
  EXPECT_THAT(rows_.Advance({}).ended, IsEmpty());
  EXPECT_THAT(KeysOf(rows_.Advance({.clock = 2}).ended), ElementsAre(1));
  const StepPoint bound{.clock = 3, .step = 50, .mode = SyncMode::Bsp(), .floor = 50};
  EXPECT_EQ(rows_.Advance(bound).ended.size(), 2U) << "whatever may be fetched";
  EXPECT_TRUE(rows_.empty());
}

TEST_F(AnnouncedRowsTest, ReadsAndWritesWithinReachAreCounted) {
  const Key key = 7;
  rows_.Add(kTable, {&key, 1}, 1, 3, Access::kRead, seconds(1), {});
  rows_.Add(kTable, {&key, 1}, 2, 3, Access::kWrite, seconds(1), {});
  EXPECT_EQ(rows_.TouchesOf({kTable, 7}).most(), 0U);
  rows_.Advance({});
  EXPECT_EQ(rows_.TouchesOf({kTable, 7}).reads, 2U);
  EXPECT_EQ(rows_.TouchesOf({kTable, 7}).writes, 1U);
  EXPECT_EQ(rows_.TouchesOf({kTable, 7}).end, 3U);
}

TEST_F(AnnouncedRowsTest, WhatIsLostIsDueAgainIfALaterStepUsesIt) {
  const std::vector<Key> keys = {7, 8};
  rows_.Add(kTable, keys, 1, 2, Access::kReadWrite, seconds(1), {});
  rows_.Add(kTable, std::vector<Key>{7}, 2, 3, Access::kReadWrite, seconds(1), {});
  EXPECT_THAT(rows_.Advance({}).due, ElementsAre(Pair(kTable, ElementsAre(7, 8))));
  for (const Key key : keys) rows_.Lost({kTable, key}, {.clock = 1});
  EXPECT_THAT(rows_.Advance({.clock = 2}).due, ElementsAre(Pair(kTable, ElementsAre(7))));
  EXPECT_THAT(rows_.Advance({.clock = 2}).due, IsEmpty());
}

// Fetched nevertheless, it could be read up to its age later by a step for which it is not announced.
TEST_F(AnnouncedRowsTest, WhatIsLostInTheLastStepThatUsesItIsNotDueAgain) {
  rows_.Add(kTable, std::vector<Key>{7}, 1, 2, Access::kReadWrite, seconds(1), {});
  rows_.Add(kTable, std::vector<Key>{8}, 1, 3, Access::kReadWrite, seconds(1), {});
  EXPECT_THAT(rows_.Advance({}).due, ElementsAre(Pair(kTable, ElementsAre(7, 8))));
  EXPECT_THAT(rows_.Advance({.clock = 1}).due, IsEmpty());
  for (const Key key : {7, 8}) rows_.LostEarly({kTable, key});
  const AnnouncedRows::News news = rows_.Advance({.clock = 2});
  EXPECT_THAT(news.due, ElementsAre(Pair(kTable, ElementsAre(8))));
  EXPECT_THAT(news.ended, ElementsAre(TableKey{kTable, 7}));
}

}  // namespace
}  // namespace attune::ps::announced_rows_test
