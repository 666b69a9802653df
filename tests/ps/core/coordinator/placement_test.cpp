#include "ps/core/coordinator/placement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::placement_test {
namespace {

class PlacementTest : public CoordinatorParts {
 protected:
  static constexpr NodeId kServer2{4};

  using CoordinatorParts::CoordinatorParts;
  // With what all members have reported by then, until nothing is to be done any more. Returns who is to be released.
  std::vector<NodeId> Settle() {
    for (int i = 0; i < 30; ++i) {
      for (const auto& [id, node] : job_.members()) KnowTheMap(id);
      placement_.NoteChange();
      if (std::vector<NodeId> leavers = placement_.Continue(out_); !leavers.empty()) return leavers;
      if (placement_.settled()) return {};
    }
    ADD_FAILURE() << "shards still change their place";
    return {};
  }
  size_t HomesAt(NodeId server) const {
    return static_cast<size_t>(std::ranges::count(job_.map().shards, server, &Shard::home));
  }
  Status ResultOf(uint64_t command) const {
    for (const CommandResult& result : out_.command_results) {
      if (result.id == CommandId(command)) return result.status;
    }
    return Error(StatusCode::kNotFound, "not answered");
  }
};

TEST_F(PlacementTest, TheJobServesOnceAllServersHaveJoined) {
  EXPECT_TRUE(job_.map().formed());
  EXPECT_EQ(HomesAt(kServer0), 2U);
  EXPECT_EQ(HomesAt(kServer1), 2U);
  const MapVersion version = job_.map().version;
  placement_.FormWhenComplete(out_);
  EXPECT_EQ(job_.map().version, version) << "once";
}

class UnformedPlacementTest : public PlacementTest {
 protected:
  UnformedPlacementTest() : PlacementTest(Alone(), false) {}
};

TEST_F(UnformedPlacementTest, BeforeThatNothingIsPublishedOrOrdered) {
  admissions_.OnJoin(To(kServer0), JoinOf(Role::kServer, 0), out_);
  placement_.PublishMembers(out_);
  EXPECT_EQ(Sent<MapUpdate>(kServer0), nullptr);
  placement_.OnCommand(CommandId(1), SetServers{.servers = 2}, kNever, out_);
  EXPECT_EQ(ResultOf(1).code(), StatusCode::kInvalidArgument);
}

TEST_F(PlacementTest, AMapReachesAllMembersUnderItsNextVersion) {
  const MapVersion before = job_.map().version;
  placement_.PublishMembers(out_);
  EXPECT_EQ(job_.map().version, before.Next());
  for (const NodeId node : {kServer0, kServer1, kWorker}) {
    ASSERT_NE(Sent<MapUpdate>(node), nullptr);
    EXPECT_EQ(Sent<MapUpdate>(node)->map, job_.map());
  }
  EXPECT_FALSE(placement_.settled());
}

TEST_F(PlacementTest, AServerThatJoinsGetsItsShare) {
  EXPECT_TRUE(Settle().empty());
  admissions_.OnJoin(To(kServer2), JoinOf(Role::kServer, 2), out_);
  EXPECT_TRUE(Settle().empty());
  EXPECT_GE(HomesAt(kServer2), 1U);
  JobProgress progress;
  placement_.Fill(progress);
  EXPECT_EQ(progress.servers_wanted, 3U);
}

TEST_F(PlacementTest, RowsOfAMemberThatHasNotReportedHoldUpChanges) {
  (void)Settle();
  admissions_.OnJoin(To(kServer2), JoinOf(Role::kServer, 2), out_);
  placement_.NoteChange();
  const MapVersion version = job_.map().version;
  EXPECT_TRUE(placement_.Continue(out_).empty());
  EXPECT_EQ(job_.map().version, version);
}

TEST_F(PlacementTest, ADrainedServerIsReleasedOnceItHoldsNothing) {
  placement_.OnCommand(CommandId(1), DrainServer{.index = 1}, kNever, out_);
  EXPECT_TRUE(HasEvent("is being drained"));
  EXPECT_EQ(Settle(), std::vector{kServer1});
  EXPECT_EQ(HomesAt(kServer1), 0U);
  EXPECT_EQ(ResultOf(1).code(), StatusCode::kNotFound) << "it is a member still";
  departures_.Release(kServer1, out_);
  placement_.AnswerOrders(out_);
  EXPECT_TRUE(ResultOf(1).ok());
}

TEST_F(PlacementTest, OrdersThatCannotBeCarriedOutAreRefused) {
  placement_.OnCommand(CommandId(1), DrainServer{.index = 1}, kNever, out_);
  placement_.OnCommand(CommandId(2), DrainServer{.index = 0}, kNever, out_);
  EXPECT_EQ(ResultOf(2).code(), StatusCode::kFailedPrecondition) << "the last one";
  placement_.OnCommand(CommandId(3), DrainServer{.index = 7}, kNever, out_);
  EXPECT_TRUE(ResultOf(3).ok()) << "there is no such server";
  placement_.OnCommand(CommandId(4), SetServers{.servers = 0}, kNever, out_);
  EXPECT_EQ(ResultOf(4).code(), StatusCode::kInvalidArgument);
  placement_.OnCommand(CommandId(5), SetBackups{.backups = 2}, kNever, out_);
  EXPECT_EQ(ResultOf(5).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(placement_.AbandonAll(), std::vector{CommandId(1)});
}

TEST_F(PlacementTest, BackupsAreMadeOnceOrdered) {
  placement_.OnCommand(CommandId(1), SetBackups{.backups = 1}, kNever, out_);
  EXPECT_TRUE(ResultOf(1).ok());
  for (const auto& [id, node] : job_.members()) KnowTheMap(id);
  EXPECT_TRUE(placement_.Continue(out_).empty());
  EXPECT_TRUE(std::ranges::all_of(job_.map().shards, [](const Shard& shard) { return shard.next_backup != NodeId(); }));
}

TEST_F(PlacementTest, AServerBeyondTheOrderedNumberIsDrainedWhenItComes) {
  placement_.OnCommand(CommandId(1), SetServers{.servers = 2}, kNever, out_);
  admissions_.OnJoin(To(kServer2), JoinOf(Role::kServer, 2), out_);
  EXPECT_TRUE(At(kServer2).member.leaving);
  EXPECT_EQ(Settle(), std::vector{kServer2});
}

TEST_F(PlacementTest, TotalsOfRecoveriesComeWithRows) {
  placement_.OnMessage(At(kServer0), RowsReport{.number = 9, .map_version = job_.map().version}, out_);
  placement_.OnMessage(At(kServer0), RowsReport{.number = 10, .map_version = job_.map().version, .shards_restored = 2},
                       out_);
  JobProgress progress;
  recoveries_.Fill(progress, 0);
  EXPECT_EQ(progress.shards_restored, 2U);
}

}  // namespace
}  // namespace attune::ps::placement_test
