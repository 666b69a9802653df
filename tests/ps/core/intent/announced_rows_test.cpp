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
  EXPECT_THAT(rows_.Due({}), ElementsAre(Pair(kTable, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9))))
      << "10 ms at 100 steps a second: a mean of two";
  EXPECT_THAT(rows_.Due({}), IsEmpty()) << "each once";
  EXPECT_THAT(rows_.Due({.clock = 1}), ElementsAre(Pair(kTable, ElementsAre(10))));
  for (int i = 0; i < 256; ++i) rows_.Fetched(milliseconds(40));
  EXPECT_THAT(rows_.Due({.clock = 1}), ElementsAre(Pair(kTable, ElementsAre(11, 12, 13, 14, 15, 16))))
      << "a mean of five";
}

TEST_F(AnnouncedRowsTest, NothingIsFetchedThatWouldBeTooOldWhenItIsUsed) {
  AnnounceEachStep(1, 30, kTable, milliseconds(60));
  EXPECT_THAT(rows_.Due({}), ElementsAre(Pair(kTable, ElementsAre(1, 2, 3)))) << "30 ms, half of that age";
  Go(64 * 16, seconds(2));
  EXPECT_THAT(rows_.Due({.clock = 1}), IsEmpty()) << "steps of two seconds: the next one is too far";
}

TEST_F(AnnouncedRowsTest, TheTableOfTheYoungestRowsDecidesForAll) {
  AnnounceEachStep(1, 9);
  AnnounceEachStep(1, 9, kOther, milliseconds(40));
  EXPECT_THAT(rows_.Due({}), ElementsAre(Pair(kTable, ElementsAre(1, 2)), Pair(kOther, ElementsAre(1, 2))));
}

TEST_F(AnnouncedRowsTest, ATableWhoseRowsMustAlwaysBeAskedForIsLeftAlone) {
  AnnounceEachStep(1, 9, kOther, Duration::zero());
  EXPECT_THAT(rows_.Due({}), IsEmpty());
  EXPECT_EQ(rows_.AgeMaxOf(kOther), std::nullopt);
}

TEST_F(AnnouncedRowsTest, ThePaceSaysHowFarAheadRowsMayBeRead) {
  AnnounceEachStep(1, 30);
  EXPECT_THAT(rows_.Due({.step = 50, .mode = SyncMode::Bsp(), .floor = 50}), IsEmpty());
  EXPECT_THAT(rows_.Due({.step = 50, .mode = SyncMode::Ssp(4), .floor = 48}),
              ElementsAre(Pair(kTable, ElementsAre(1, 2))));
  EXPECT_THAT(rows_.Due({.step = 50, .mode = SyncMode::Ssp(4), .floor = 46}), IsEmpty());
  EXPECT_THAT(rows_.Due({.step = 50, .mode = SyncMode::Ssp(1), .floor = 60}),
              ElementsAre(Pair(kTable, ElementsAre(3, 4, 5, 6, 7, 8, 9))))
      << "others are far ahead: no farther than a fetch takes";
}

}  // namespace
}  // namespace attune::ps::announced_rows_test
