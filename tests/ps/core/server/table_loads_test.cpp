#include "ps/core/server/table_loads.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace attune::ps::table_loads_test {
namespace {

using Next = TableLoads::Next;

class TableLoadsTest : public testing::Test {
 protected:
  static constexpr NodeId kSelf{1}, kOther{2};
  static constexpr uint32_t kTerm = 3;

  TableLoadsTest() {
    map_.version = MapVersion(kTerm, 1);
    map_.shards = {{.home = kSelf, .backup = kOther}, {.home = kOther, .backup = kSelf}, {.home = kOther}};
  }
  std::optional<LoadOrder> Begin() { return loads_.Begin({.table = TableId(1)}, kTerm, kSelf, map_); }
  Next End(TableLoaded& loaded, uint32_t term = kTerm) { return loads_.Ended(loaded, term, kSelf, map_); }

  TableLoads loads_;
  ShardMap map_;
};

TEST_F(TableLoadsTest, RowsOfHomesAndOfCopiesAreReadOnce) {
  const auto order = Begin();
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->term, kTerm);
  EXPECT_EQ(order->homes, std::vector<ShardId>{ShardId(0)});
  EXPECT_EQ(order->backups, std::vector<ShardId>{ShardId(1)});
  EXPECT_FALSE(Begin().has_value()) << "they are being read";
  TableLoaded loaded{.order = *order, .status = {}, .table = {}};
  EXPECT_EQ(End(loaded), Next::kInstall);
  EXPECT_TRUE(Begin().has_value());
}

TEST_F(TableLoadsTest, NothingIsReadBeforeTheJobHasFormed) {
  map_ = ShardMap();
  EXPECT_FALSE(Begin().has_value());
}

TEST_F(TableLoadsTest, RowsOfALostServerAreReadAsWell) {
  TableLoaded loaded{.order = *Begin(), .status = {}, .table = {}};
  map_.shards[1] = {.home = kSelf};
  EXPECT_EQ(End(loaded), Next::kReadAgain);
  EXPECT_EQ(loaded.order.homes, (std::vector<ShardId>{ShardId(0), ShardId(1)}));
  EXPECT_TRUE(loaded.order.backups.empty());
  EXPECT_FALSE(Begin().has_value()) << "they are still being read";
  EXPECT_EQ(End(loaded), Next::kInstall);
}

TEST_F(TableLoadsTest, RowsThatCannotBeReadAreRefusedAndMayBeAskedForAgain) {
  TableLoaded loaded{.order = *Begin(), .status = Error(StatusCode::kDataLoss, "a broken file"), .table = {}};
  EXPECT_EQ(End(loaded), Next::kRefuse);
  EXPECT_TRUE(Begin().has_value());
}

TEST_F(TableLoadsTest, TheNextCoordinatorAsksItself) {
  TableLoaded loaded{.order = *Begin(), .status = {}, .table = {}};
  map_.shards[1] = {.home = kSelf};
  EXPECT_EQ(End(loaded, kTerm + 1), Next::kNothing);
  EXPECT_TRUE(Begin().has_value());
}

}  // namespace
}  // namespace attune::ps::table_loads_test
