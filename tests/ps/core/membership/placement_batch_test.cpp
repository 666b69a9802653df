#include "ps/core/membership/placement_batch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "ps/core/membership/members/row_reports.h"

namespace attune::ps::placement_batch_test {
namespace {

constexpr MapVersion kJoin{1, 3};

// Three servers and a worker without rows; A is home of both shards, and B gets copies of the first one.
class PlacementBatchTest : public testing::Test {
 protected:
  PlacementBatchTest() {
    for (const uint32_t index : {0, 1, 2}) {
      servers_.push_back(members_.Admit(JoinOf(Role::kServer, index), ConnectionId(index + 1)).member.node);
    }
    worker_ = members_.Admit(JoinOf(Role::kWorker, 0), ConnectionId(9)).member.node;
    map_.version = MapVersion(1, 4);
    map_.shards = {{.home = A(), .next_backup = B(), .join_id = kJoin}, {.home = A()}};
    for (auto& [id, member] : members_) member.last.map_version = map_.version;
  }

  static Join JoinOf(Role role, uint32_t index) {
    return {.incarnation = 100 + index, .role = role, .index = index, .machine = index == 0 ? "one" : "two"};
  }
  NodeId A() const { return servers_[0]; }
  NodeId B() const { return servers_[1]; }
  NodeId C() const { return servers_[2]; }
  void Reports(NodeId node, std::vector<MapVersion> joins_done, uint64_t held = 0, uint64_t to_come = 0,
               uint64_t foreign = 0) {
    (void)rows_.Add(members_.at(node), {.number = ++reports_,
                                        .map_version = map_.version,
                                        .joins_done = std::move(joins_done),
                                        .rows_held = held,
                                        .rows_foreign = foreign,
                                        .rows_to_come = to_come});
  }
  std::vector<NodeId> Eligible(bool may_be_used) {
    return EligibleServers(map_, members_, [&](NodeId) { return may_be_used; });
  }

  uint64_t reports_ = 0;
  MemberTable members_{Duration::zero()};
  RowReports rows_;
  LinkWatch links_{std::chrono::seconds(10)};
  std::vector<NodeId> servers_;
  NodeId worker_;
  ShardMap map_;
};

TEST_F(PlacementBatchTest, ABackupCountsOnceAllMembersWithRowsHaveCompletedItsCopies) {
  Reports(A(), {kJoin});
  Reports(B(), {kJoin});
  Reports(C(), {});
  EXPECT_FALSE(WithCompletedBackups(map_, members_));
  EXPECT_TRUE(IsChanging(map_, members_));
  Reports(C(), {kJoin});
  const auto next = WithCompletedBackups(map_, members_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->version, map_.version.Next());
  EXPECT_EQ(next->shards[0].backup, B());
  EXPECT_EQ(next->shards[0].next_backup, NodeId());
  EXPECT_FALSE(WithCompletedBackups(*next, members_)) << "nothing is left";
}

TEST_F(PlacementBatchTest, RowsThatAreToComeKeepTheNextBatchBack) {
  map_.shards[0].next_backup = NodeId();
  EXPECT_FALSE(IsChanging(map_, members_));
  Reports(A(), {}, 0, 1);
  EXPECT_TRUE(IsChanging(map_, members_));
}

// The home may count such a row as the worker's already, which it has been handed to and has not reached. Were the home
// to move to that server now, beside its copy, the row would be on one machine alone.
TEST_F(PlacementBatchTest, ServersWithRowsOfOtherHomesKeepTheNextBatchBackButNotWorkers) {
  map_.shards[0].next_backup = NodeId();
  Reports(worker_, {}, 5, 0, 5);
  EXPECT_FALSE(IsChanging(map_, members_)) << "workers own rows for as long as they like";
  Reports(A(), {}, 0, 0, 1);
  EXPECT_TRUE(IsChanging(map_, members_));
  Reports(A(), {});
  EXPECT_FALSE(IsChanging(map_, members_));
}

TEST_F(PlacementBatchTest, AJoiningServerIsReachedWhenAllKnowOfItAndNoLinkIsMissing) {
  EXPECT_TRUE(IsReachedByAll(C(), map_, members_, links_));
  members_.at(worker_).last.map_version = MapVersion(1, 3);
  EXPECT_FALSE(IsReachedByAll(C(), map_, members_, links_));
  members_.at(worker_).last.map_version = map_.version;
  (void)links_.Said(worker_, {C()}, MonotonicTime{});
  EXPECT_FALSE(IsReachedByAll(C(), map_, members_, links_));
  EXPECT_TRUE(IsReachedByAll(B(), map_, members_, links_));
}

TEST_F(PlacementBatchTest, ServersThatStayAndHaveShardsOrMayBeUsedAreEligible) {
  EXPECT_EQ(Eligible(true), servers_);
  EXPECT_EQ(Eligible(false), std::vector<NodeId>{A()}) << "B is no backup yet";
  members_.at(C()).member.leaving = true;
  members_.at(B()).lost = true;
  EXPECT_EQ(Eligible(true), std::vector<NodeId>{A()});
}

TEST_F(PlacementBatchTest, TheGoalKnowsTheMachinesOfTheServers) {
  const PlacementGoal goal = GoalOf({A(), B()}, 1, members_);
  EXPECT_EQ(goal.backups, 1U);
  EXPECT_EQ(goal.machines.at(A()), "one");
  EXPECT_EQ(goal.machines.at(B()), "two");
}

// The copies of a server that is to be emptied count for as long as they are in force. A home that moves to its machine
// leaves one behind.
TEST_F(PlacementBatchTest, TheMachineOfAServerThatIsToBeEmptiedIsKnownToo) {
  map_.shards.assign(2, {.home = A(), .backup = C()});
  const std::vector<PlacementChange> changes = PlanPlacement(map_, GoalOf({A(), B()}, 1, members_));
  const auto moved = std::ranges::find(changes, B(), &PlacementChange::to);
  ASSERT_NE(moved, changes.end());
  EXPECT_EQ(moved->kind, PlacementChange::Kind::kTradePlace);
}

TEST_F(PlacementBatchTest, MoreShardsAreChangedAtOnceWhereTheyHoldFewRows) {
  EXPECT_EQ(BatchSize(map_, members_, 4, 1000), 1000U) << "no rows yet";
  Reports(A(), {}, 200);
  EXPECT_EQ(BatchSize(map_, members_, 4, 1000), 10U);
  Reports(A(), {}, 1'000'000);
  EXPECT_EQ(BatchSize(map_, members_, 4, 1000), 4U);
}

}  // namespace
}  // namespace attune::ps::placement_batch_test
