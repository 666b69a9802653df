#include "ps/core/membership/members/row_reports.h"

#include <gtest/gtest.h>

#include <chrono>

namespace attune::ps::row_reports_test {
namespace {

// Two servers and a worker without rows.
class RowReportsTest : public testing::Test {
 protected:
  RowReportsTest() {
    a_ = members_.Admit({.incarnation = 1, .role = Role::kServer, .index = 0}, ConnectionId(11)).member.node;
    b_ = members_.Admit({.incarnation = 2, .role = Role::kServer, .index = 1}, ConnectionId(12)).member.node;
    members_.Admit({.incarnation = 3, .role = Role::kWorker, .index = 0}, ConnectionId(13));
    map_.version = MapVersion(1, 1);
    map_.shards = {{.home = a_, .backup = b_}, {.home = b_, .backup = a_}};
  }

  MemberTable members_{std::chrono::seconds(10)};
  RowReports reports_;
  NodeId a_, b_;
  ShardMap map_;
};

TEST_F(RowReportsTest, OnlyWhatAReportAddsCounts) {
  MemberState& b = members_.at(b_);
  const auto first = reports_.Add(b, {.number = 2, .rows_received = 100, .rows_restored = 3});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rows_restored, 3U);
  EXPECT_EQ(reports_.rows_moved(), 0U) << "it may have received them under another coordinator";
  EXPECT_FALSE(reports_.Add(b, {.number = 2, .rows_received = 200})) << "a late copy";
  const auto second =
      reports_.Add(b, {.number = 3, .rows_held = 40, .rows_to_come = 2, .rows_received = 130, .rows_restored = 3});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->rows_restored, 0U);
  EXPECT_EQ(reports_.rows_moved(), 30U);
  EXPECT_EQ(RowsOfAll(members_).held, 40U);
  EXPECT_EQ(RowsOfAll(members_).to_come, 2U);
}

TEST_F(RowReportsTest, AllAreReadyWhenTheirShardsAreCompleteUnderTheMap) {
  EXPECT_FALSE(AllReady(members_, map_));
  (void)reports_.Add(members_.at(a_), {.number = 1, .map_version = map_.version});
  (void)reports_.Add(members_.at(b_), {.number = 1, .map_version = map_.version, .shards_not_ready = 1});
  EXPECT_FALSE(AllReady(members_, map_));
  (void)reports_.Add(members_.at(b_), {.number = 2, .map_version = map_.version});
  EXPECT_TRUE(AllReady(members_, map_)) << "a worker without rows says nothing";
  EXPECT_FALSE(HoldsNothing(members_.at(b_), map_)) << "the map names it";
  map_.shards = {{.home = a_, .backup = NodeId()}};
  EXPECT_TRUE(HoldsNothing(members_.at(b_), map_));
}

}  // namespace
}  // namespace attune::ps::row_reports_test
