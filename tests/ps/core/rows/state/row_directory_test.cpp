#include "ps/core/rows/state/row_directory.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::row_directory_test {
namespace {

constexpr TableKey kRow{TableId(1), 7}, kOther{TableId(3), 8};
constexpr NodeId kAnna{1}, kBert{2};

RowDirectory OfTwoShards() {
  RowDirectory directory;
  directory.SetShards(2);
  return directory;
}

TEST(RowDirectory, CountsEntriesByShardAndByTable) {
  RowDirectory directory = OfTwoShards();
  directory.Set(kRow, 0, {.owner = kAnna});
  directory.Set(kRow, 0, {.owner = kBert});
  directory.Set(kOther, 1, {.owner = kAnna});
  EXPECT_EQ(directory.InShard(0), 1U);
  EXPECT_EQ(directory.InShard(1), 1U);
  EXPECT_EQ(directory.InTable(TableId(1)), 1U);
  EXPECT_EQ(directory.InTable(TableId(2)), 0U);
  EXPECT_EQ(directory.InTable(TableId(9)), 0U);
  EXPECT_EQ(directory.Find(kRow)->owner, kBert);
  EXPECT_TRUE(directory.Erase(kRow, 0));
  EXPECT_FALSE(directory.Erase(kRow, 0));
  EXPECT_EQ(directory.InShard(0), 0U);
  EXPECT_EQ(directory.InTable(TableId(1)), 0U);
}

TEST(RowDirectory, CountsRowsThatAreCalledBackUntilTheyAreSetOtherwiseOrErased) {
  RowDirectory directory = OfTwoShards();
  directory.Set(kRow, 0, {.owner = kAnna, .called_back = true});
  directory.Set(kRow, 0, {.owner = kAnna, .called_back = true});
  EXPECT_EQ(directory.called_back(), 1U);
  directory.Set(kRow, 0, {.owner = kBert});
  EXPECT_EQ(directory.called_back(), 0U);
  directory.Set(kRow, 0, {.owner = kAnna, .called_back = true});
  directory.Erase(kRow, 0);
  EXPECT_EQ(directory.called_back(), 0U);
}

TEST(RowDirectory, ARowThatIsSentOnBeforeItHasComeFromTheBackupStillComesFromThereFirst) {
  RowDirectory directory = OfTwoShards();
  directory.Set(kRow, 0, {.owner = kAnna, .sent_by_me = true, .fetching = true});
  directory.Redirect(kRow, kBert, 5, true);
  EXPECT_EQ(directory.Find(kRow)->owner, kBert);
  EXPECT_EQ(directory.Find(kRow)->move_number, 5U);
  EXPECT_FALSE(directory.Find(kRow)->sent_by_me) << "this move has not left";
  EXPECT_EQ(directory.called_back(), 1U);
  EXPECT_EQ(directory.InShard(0), 1U);
  EXPECT_TRUE(directory.EndFetch(kRow));
}

TEST(RowDirectory, ARowThatIsFetchedStaysSoUntilItHasCome) {
  RowDirectory directory = OfTwoShards();
  directory.Set(kRow, 0, {.owner = kAnna, .fetching = true});
  directory.Set(kRow, 0, {.owner = kBert, .move_number = 1});
  directory.Set(kOther, 1, {.owner = kAnna, .fetching = true});
  EXPECT_EQ(directory.EndFetchesIf([](TableKey row) { return row == kRow; }), std::vector<TableKey>{kRow});
  EXPECT_FALSE(directory.EndFetch(kRow)) << "it has ended";
  EXPECT_TRUE(directory.EndFetch(kOther));
}

TEST(RowDirectory, NothingComesAfterARecovery) {
  RowDirectory directory = OfTwoShards();
  directory.Set(kRow, 0, {.owner = kAnna, .called_back = true});
  directory.Set(kOther, 1, {.owner = kAnna, .fetching = true});
  directory.ForgetComing();
  EXPECT_EQ(directory.called_back(), 0U);
  EXPECT_FALSE(directory.EndFetch(kOther));
  directory.Erase(kRow, 0);
  EXPECT_EQ(directory.called_back(), 0U);
}

TEST(RowDirectory, OnlyTheMoveOfTheEntryIsMarkedAsSent) {
  RowDirectory directory = OfTwoShards();
  directory.Set(kRow, 0, {.owner = kAnna, .move_number = 4});
  directory.MarkSent(kRow, kBert, 4);
  directory.MarkSent(kRow, kAnna, 3);
  directory.MarkSent(kOther, kAnna, 4);
  EXPECT_FALSE(directory.Find(kRow)->sent_by_me);
  directory.MarkSent(kRow, kAnna, 4);
  EXPECT_TRUE(directory.Find(kRow)->sent_by_me);
}

}  // namespace
}  // namespace attune::ps::row_directory_test
