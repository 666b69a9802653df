#include "ps/core/rows/state/call_backs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::call_backs_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr NodeId kHome{1}, kServer{2}, kWorker{3};
constexpr TableId kTable{1}, kOtherTable{2};

class CallBacksTest : public testing::Test {
 protected:
  CallBacksTest() {
    map_.version = MapVersion(1);
    map_.shards = {{.home = kHome}};
    map_.members = {{.node = kHome, .role = Role::kServer},
                    {.node = kServer, .role = Role::kServer},
                    {.node = kWorker, .role = Role::kWorker, .takes_rows = true}};
    shards_.Adopt(ShardMap{}, map_, kHome);
  }
  void Own(NodeId owner, Key key, TableId table = kTable) {
    shards_.SetEntry({table, key}, {.owner = owner, .move_number = 1});
  }
  void Plan(CallBacks::Rules rules = {}) { call_backs_.Plan(shards_, map_, kHome, rules); }
  std::optional<CallBacks::Batch> Next(size_t rows_max = 100, size_t in_flight_max = 100) {
    return call_backs_.Next(shards_, kHome, rows_max, [&](TableId) { return in_flight_max; });
  }

  ShardMap map_;
  ShardStates shards_;
  CallBacks call_backs_;
};

TEST_F(CallBacksTest, RowsOfServersComeHomeAndThoseOfWorkersStay) {
  Own(kServer, 7);
  Own(kWorker, 8);
  Plan();
  EXPECT_EQ(call_backs_.planned(), 1U);
  EXPECT_THAT(Next()->keys, ElementsAre(7));
  EXPECT_FALSE(Next().has_value());
}

TEST_F(CallBacksTest, ServersKeepRowsWhereTheyMay) {
  Own(kServer, 7);
  Plan({.from_servers = false});
  EXPECT_EQ(call_backs_.planned(), 0U);
}

TEST_F(CallBacksTest, RowsOfAMemberThatLeavesOrBecomesBackupComeHome) {
  Own(kServer, 7);
  Own(kWorker, 8);
  map_.shards[0].next_backup = kServer;
  map_.members[2].leaving = true;
  Plan({.from_servers = false});
  EXPECT_THAT(Next()->keys, UnorderedElementsAre(7, 8));
}

TEST_F(CallBacksTest, OneBatchHasRowsOfOneTable) {
  Own(kServer, 7);
  Own(kServer, 8, kOtherTable);
  Plan();
  const auto first = Next(), second = Next();
  EXPECT_NE(first->table, second->table);
  EXPECT_EQ(first->keys.size() + second->keys.size(), 2U);
}

TEST_F(CallBacksTest, NoMoreAreCalledThanMayBeOnTheirWay) {
  for (Key key = 0; key < 5; ++key) Own(kServer, key);
  Plan();
  EXPECT_EQ(Next(2)->keys.size(), 2U) << "as many as a message takes";
  shards_.SetEntry({kTable, 100}, {.owner = kHome, .called_back = true});
  EXPECT_FALSE(Next(100, 1).has_value());
  EXPECT_EQ(Next(100, 2)->keys.size(), 1U);
  EXPECT_EQ(Next(100, 10)->keys.size(), 2U);
}

TEST_F(CallBacksTest, RowsThatHaveMovedMeanwhileAreLeftOut) {
  Own(kServer, 7);
  Own(kServer, 8);
  Plan();
  shards_.EraseEntry({kTable, 7});
  shards_.SetEntry({kTable, 8}, {.owner = kHome, .move_number = 2});
  EXPECT_FALSE(Next().has_value());
}

TEST_F(CallBacksTest, ANewPlanReplacesTheOldOne) {
  Own(kServer, 7);
  Plan();
  Plan();
  EXPECT_EQ(call_backs_.planned(), 1U);
  call_backs_.Clear();
  EXPECT_FALSE(Next().has_value());
}

TEST_F(CallBacksTest, AHomeThatIsNotReadyCallsNothingBack) {
  Own(kServer, 7);
  Plan();
  const uint32_t shards[] = {0};
  shards_.BeginRestore(shards);
  EXPECT_FALSE(Next().has_value());
  Own(kServer, 8);
  Plan();
  EXPECT_EQ(call_backs_.planned(), 0U);
}

}  // namespace
}  // namespace attune::ps::call_backs_test
