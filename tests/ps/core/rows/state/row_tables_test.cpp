#include "ps/core/rows/state/row_tables.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::row_tables_test {
namespace {

constexpr TableId kTable{2};

TableSpec SpecOf(uint64_t rows_max = 0) {
  return {.name = "t", .options = {.dim = 2, .optimizer = Sgd{.rate = 1}, .rows_max = rows_max}};
}

class RowTablesTest : public testing::Test {
 protected:
  RowTablesTest()
      : options_{.create_store = [](const TableSpec& spec) { return MapStore::Make(spec); },
                 .rows_per_message_max = 100,
                 .floats_per_message_max = 60},
        tables_(options_) {}
  void Install(uint64_t rows_max = 0) { ASSERT_TRUE(tables_.Install(kTable, SpecOf(rows_max), {}, false).ok()); }
  void Create(const std::vector<Key>& keys) {
    ASSERT_TRUE(tables_.Rows(kTable)->CreateRows(keys, RowVersion(1, 5)).ok());
  }

  const RowOptions options_;
  RowTables tables_;
};

TEST_F(RowTablesTest, ATableHasAStoreOfRowsAndOneOfCopiesThatHasNoLimit) {
  EXPECT_EQ(tables_.Rows(kTable), nullptr);
  Install(7);
  EXPECT_EQ(tables_.Rows(kTable)->spec().options.rows_max, 7U);
  EXPECT_EQ(tables_.Copies(kTable)->spec().options.rows_max, 0U);
  EXPECT_EQ(tables_.Rows(TableId(1)), nullptr);
  EXPECT_EQ(tables_.Rows(TableId(3)), nullptr);
  EXPECT_EQ(tables_.Rows(TableId()), nullptr);
}

TEST_F(RowTablesTest, InstallingATableAgainChangesNothing) {
  Install();
  const TableStore* before = tables_.Rows(kTable);
  Install(9);
  EXPECT_EQ(tables_.Rows(kTable), before);
}

TEST_F(RowTablesTest, IdsOutOfBoundsAreRefused) {
  EXPECT_FALSE(tables_.Install(TableId(), SpecOf(), {}, false).ok());
  EXPECT_FALSE(tables_.Install(TableId(kTablesMax + 1), SpecOf(), {}, false).ok());
}

TEST_F(RowTablesTest, ATableThatComesDuringASnapshotTakesPartInIt) {
  ASSERT_TRUE(tables_.Install(kTable, SpecOf(), {}, true).ok());
  EXPECT_FALSE(tables_.Rows(kTable)->BeginSnapshot().ok()) << "it has begun";
}

TEST_F(RowTablesTest, KeysAreFoundByTheirShards) {
  Install();
  constexpr uint32_t kShards = 4;
  std::vector<Key> keys(40), expected;
  for (Key key = 0; key < keys.size(); ++key) {
    keys[key] = key;
    if (ShardMap::ShardIndex(key, kShards) == 3) expected.push_back(key);
  }
  Create(keys);
  ASSERT_FALSE(expected.empty());
  const uint32_t shards[] = {3};
  std::vector<Key> found;
  for (const TableKey& row : RowTables::KeysOf(tables_.rows(), shards, kShards)) {
    EXPECT_EQ(row.table, kTable);
    found.push_back(row.key);
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(RowTables::Count(tables_.rows()), keys.size());
  EXPECT_EQ(RowTables::Count(tables_.copies()), 0U);
}

TEST_F(RowTablesTest, AMessageTakesAsManyRowsAsTheirFloatsAllow) {
  Install();
  EXPECT_EQ(tables_.RowsPerMessage(*tables_.Rows(kTable)), 10U) << "two values, and state for as much as twice that";
}

TEST_F(RowTablesTest, RowsThatAreElsewhereKeepTheirRoom) {
  Install(5);
  Create({1, 2});
  const std::vector<Key> two_more{2, 3, 4}, three_more{3, 4, 5};
  EXPECT_TRUE(tables_.CheckRoom(kTable, two_more, 1).ok());
  EXPECT_EQ(tables_.CheckRoom(kTable, three_more, 1).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(tables_.CheckRoom(kTable, three_more, 0).ok()) << "the store itself checks what is here";
}

TEST_F(RowTablesTest, ABatchHasTheRowsThatAreHereAndGoesIntoAnotherStoreAsItIs) {
  Install();
  Create({1, 2, 3});
  const std::vector<Key> asked{1, 9, 3};
  const RowBatch batch = tables_.Gather(*tables_.Rows(kTable), kTable, asked);
  EXPECT_EQ(std::vector<Key>(batch.keys.begin(), batch.keys.end()), (std::vector<Key>{1, 3}));
  const uint32_t only[] = {1};
  ASSERT_TRUE(RowTables::Insert(*tables_.Copies(kTable), batch, only).ok());
  EXPECT_FALSE(tables_.Copies(kTable)->Contains(1));
  const Key second = 3;
  RowVersion version;
  tables_.Copies(kTable)->VisitRows({&second, 1}, [&](const RowView& row) { version = row.version; });
  EXPECT_EQ(version, RowVersion(1, 5));
  ASSERT_TRUE(RowTables::Insert(*tables_.Copies(kTable), batch, {}).ok());
  EXPECT_TRUE(tables_.Copies(kTable)->Contains(1));
}

TEST_F(RowTablesTest, RowsOfAnotherLengthOrTableAreNamed) {
  Install();
  RowBatch batch{.table = kTable, .keys = std::vector<Key>{1}, .values = std::vector<float>{1, 2}};
  EXPECT_FALSE(tables_.WhyUnfit(batch).has_value());
  batch.values = std::vector<float>{1, 2, 3};
  EXPECT_EQ(tables_.WhyUnfit(batch), "3 values for 1 rows of table \"t\", which have 2 each");
  batch.table = TableId(1);
  EXPECT_EQ(tables_.WhyUnfit(batch), "rows of table 1, which is not installed here");
  EXPECT_FALSE(tables_.WhyUnfit(RowBatch{}).has_value()) << "no rows fit any table";
}

}  // namespace
}  // namespace attune::ps::row_tables_test
