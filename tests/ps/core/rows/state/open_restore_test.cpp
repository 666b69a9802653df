#include "ps/core/rows/state/open_restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::open_restore_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TableId kTable{1}, kOtherTable{2};

TEST(OpenRestore, ShardsWaitUntilAllTablesHaveCome) {
  OpenRestore restore;
  restore.Begin({3, 5});
  restore.Order(kTable);
  restore.Order(kOtherTable);
  EXPECT_FALSE(restore.complete());
  EXPECT_TRUE(restore.Take(kTable));
  EXPECT_FALSE(restore.Take(kTable)) << "it has come";
  EXPECT_FALSE(restore.complete());
  EXPECT_TRUE(restore.Take(kOtherTable));
  EXPECT_TRUE(restore.complete());
  EXPECT_THAT(restore.End().shards, ElementsAre(3, 5));
  EXPECT_THAT(restore.shards(), IsEmpty());
}

TEST(OpenRestore, RowsThatTheCheckpointDoesNotHaveBeginAgain) {
  OpenRestore restore;
  restore.AddLost({kTable, 7});
  restore.AddLost({kTable, 8});
  restore.Begin({3});
  restore.Restored({kTable, 7});
  restore.Restored({kTable, 9});
  EXPECT_EQ(restore.End().rows_begun_again, 1U);
  EXPECT_EQ(restore.totals().shards, 1U);
  EXPECT_EQ(restore.totals().rows, 2U);
  EXPECT_EQ(restore.totals().rows_begun_again, 1U);
  EXPECT_EQ(restore.End().rows_begun_again, 0U) << "the next one starts with none";
}

TEST(OpenRestore, AnotherRecoveryForgetsWhatWasOrderedButNotTheTotals) {
  OpenRestore restore;
  restore.AddLost({kTable, 7});
  restore.Begin({3});
  restore.Order(kTable);
  restore.Forget();
  EXPECT_TRUE(restore.complete());
  EXPECT_FALSE(restore.Take(kTable));
  std::vector<TableKey> lost;
  restore.ForEachLost([&](TableKey row) { lost.push_back(row); });
  EXPECT_THAT(lost, IsEmpty());
  EXPECT_EQ(restore.totals().shards, 1U);
}

}  // namespace
}  // namespace attune::ps::open_restore_test
