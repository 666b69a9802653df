// How much of the map changes at a time.
#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps::coordinator_placement_test {
namespace {

constexpr uint32_t kShards = 256;

class CoordinatorPlacementTest : public CoordinatedJob {
 protected:
  CoordinatorPlacementTest() : CoordinatedJob({.job_uid = "job", .servers = 2, .shards = kShards, .host_index = 0}) {}

  void Report(uint64_t rows_held_by_each) {
    ++report_;
    for (const ConnectionId server : {kServer0, kServer1})
      Say(server, RowsReport{.number = report_, .map_version = map_.version, .rows_held = rows_held_by_each});
  }
  auto HomesAt(ConnectionId server) const {
    return std::ranges::count_if(map_.shards, [&](const Shard& shard) { return shard.home == nodes_.at(server); });
  }
  // Of the last server's shards, those that changed their home at first when it was asked to go.
  auto ChangedAtFirst(uint64_t rows_held_by_each) {
    Report(rows_held_by_each);
    const auto before = HomesAt(kServer1);
    EXPECT_EQ(before, kShards / 2);
    Step(FromOperator{.id = CommandId(1), .command = SetServers{1}});
    Report(rows_held_by_each);
    return before - HomesAt(kServer1);
  }

 private:
  uint64_t report_ = 0;
};

TEST_F(CoordinatorPlacementTest, AJobOfFewRowsChangesItsPlaceAtOnce) { EXPECT_EQ(ChangedAtFirst(1000), kShards / 2); }
TEST_F(CoordinatorPlacementTest, ManyRowsChangeTheirPlaceByAndBy) { EXPECT_EQ(ChangedAtFirst(50'000'000), 32); }
TEST_F(CoordinatorPlacementTest, BetweenThemTheRowsAreBounded) { EXPECT_EQ(ChangedAtFirst(128 * 300), 16384 / 300); }

// Its connection broke before the answer arrived. It has nothing to ask, and no other process speaks to it any more.
TEST_F(CoordinatorPlacementTest, AServerThatMissedItsReleaseHearsItWhenItComesBack) {
  ChangedAtFirst(0);
  while (core_->progress().servers == 2) Report(0);
  Step(ConnectionClosed{kServer1});
  constexpr ConnectionId kAgain{9};
  Say(kAgain, JoinOf(Role::kServer, 1, nodes_.at(kServer1)));
  EXPECT_NE(Sent<Finished>(kAgain), nullptr);
}

// It was started before the order that there are to be two, and joins while that is carried out.
TEST_F(CoordinatorPlacementTest, AServerBeyondTheOrderedNumberIsDrainedThoughItComesLate) {
  constexpr ConnectionId kLate{9};
  Report(0);
  Step(FromOperator{.id = CommandId(1), .command = SetServers{2}});
  ASSERT_TRUE(out_.command_results.empty()) << "not all have the newest map yet";
  Say(kLate, JoinOf(Role::kServer, 2));
  EXPECT_EQ(core_->progress().servers_wanted, 2U);
  bool released = false;
  std::vector<CommandResult> results;
  for (uint64_t number = 100; number < 110; ++number) {
    for (const ConnectionId server : {kServer0, kServer1, kLate}) {
      Say(server, RowsReport{.number = number, .map_version = map_.version});
      released = released || Sent<Finished>(kLate) != nullptr;
      results.insert(results.end(), out_.command_results.begin(), out_.command_results.end());
    }
  }
  EXPECT_TRUE(released);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(core_->progress().servers, 2U);
}

TEST_F(CoordinatorPlacementTest, AServerThatComesIsWantedWhileNoOrderSaysOtherwise) {
  Report(0);
  Say(ConnectionId(9), JoinOf(Role::kServer, 2));
  EXPECT_EQ(core_->progress().servers_wanted, 3U);
}

// Who reads "a recovery" before its price is known reads that nothing was lost.
TEST_F(CoordinatorPlacementTest, ARecoveryIsToldWithWhatItCostWhenItIsComplete) {
  Report(1000);
  Step(ConnectionClosed{kServer1});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{.role = Role::kServer, .index = 1, .pod = 11}});
  ConfirmWhenWanted();
  Step(CoordinatorTimer{});
  ASSERT_EQ(map_.recoveries, 1) << "no server had a copy of its shards";
  EXPECT_EQ(core_->progress().recoveries, 0U);
  RowsReport restoring{.number = 10, .map_version = map_.version, .shards_restored = kShards / 2};
  restoring.shards_not_ready = kShards / 2;
  Say(kServer0, restoring);
  EXPECT_EQ(core_->progress().shards_restored, 0U) << "how many rows is not known yet";
  Say(kServer0, RowsReport{.number = 11, .map_version = map_.version, .shards_restored = kShards / 2});
  EXPECT_EQ(core_->progress().recoveries, 1U);
  EXPECT_EQ(core_->progress().shards_restored, kShards / 2);
}

// Servers 0 and 1 on one machine, server 2 on another.
class ServersOnTwoMachinesTest : public CoordinatedJob {
 protected:
  static constexpr ConnectionId kServer2{4};

  ServersOnTwoMachinesTest()
      : CoordinatedJob({.job_uid = "job", .servers = 3, .shards = 60, .backups = 1, .host_index = 0}, "one") {
    Say(kServer2, JoinFrom("two", 2));
    Say(kWorker, JoinOf(Role::kWorker, 0));
    for (const ConnectionId server : {kServer0, kServer1, kServer2}) {
      Say(server, Heartbeat{.number = 1, .map_version = map_.version});
    }
  }
};

TEST_F(ServersOnTwoMachinesTest, AJobBeginsWithEveryCopyOnAnotherMachineThanItsRows) {
  ASSERT_TRUE(map_.formed());
  const auto on_two = [&](NodeId server) { return server == nodes_.at(kServer2); };
  for (const Shard& shard : map_.shards) {
    ASSERT_NE(shard.backup, NodeId());
    EXPECT_NE(on_two(shard.home), on_two(shard.backup));
  }
}

TEST_F(ServersOnTwoMachinesTest, WhatOnlyTheCoordinatorKnowsIsCopiedToAnotherMachine) {
  EXPECT_EQ(record_at_, kServer2) << "server 1 comes first, and may be lost together with the coordinator";
}

}  // namespace
}  // namespace attune::ps::coordinator_placement_test
