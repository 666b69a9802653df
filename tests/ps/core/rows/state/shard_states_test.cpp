#include "ps/core/rows/state/shard_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ps/core/membership/placement_planner.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::shard_states_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using What = ShardStates::Place::What;

constexpr NodeId kMe{1}, kOther{2}, kThird{3};
constexpr TableId kTable{1};

// Of one shard, so that every key lies in it.
ShardMap MapOf(uint64_t version, NodeId home, NodeId backup = {}, NodeId next_backup = {}) {
  ShardMap map;
  map.version = MapVersion(1, version);
  map.shards = {{.home = home, .backup = backup, .next_backup = next_backup}};
  for (const NodeId node : {kMe, kOther, kThird}) map.members.push_back({.node = node, .role = Role::kServer});
  return map;
}

// The same after `lost` has failed.
ShardMap Recovered(ShardMap map, NodeId lost) {
  map.recovered_at = map.version;
  ++map.recoveries;
  std::erase_if(map.members, [&](const Member& member) { return member.node == lost; });
  return map;
}

class ShardStatesTest : public testing::Test {
 protected:
  ShardStates::Changes Adopt(const ShardMap& map) {
    ShardStates::Changes changes = states_.Adopt(map_, map, kMe);
    map_ = map;
    return changes;
  }
  ShardStates::Place Find(Key key, bool present = false, bool sent_by_home = false) const {
    return states_.Find({kTable, key}, 0, map_.shards[0].home, kMe, present, sent_by_home);
  }

  ShardStates states_;
  ShardMap map_;
};

TEST_F(ShardStatesTest, TheFirstHomeOfAShardServesAtOnce) {
  Adopt(MapOf(1, kMe));
  EXPECT_TRUE(states_.IsActive(0));
  EXPECT_TRUE(states_.AllPlain(std::vector<Key>{1, 2, 3}));
  EXPECT_EQ(states_.NotReady(), 0U);
  EXPECT_FALSE(states_.any_guard());
}

TEST_F(ShardStatesTest, ANewHomeWaitsUntilItKnowsWhereTheRowsAre) {
  Adopt(MapOf(1, kOther));
  EXPECT_THAT(Adopt(MapOf(2, kMe)).given_away, IsEmpty());
  EXPECT_EQ(states_[0].home, ShardStates::Home::kWaitHandoff);
  EXPECT_EQ(states_.NotReady(), 1U);
  EXPECT_EQ(Find(7).what, What::kQueue);
  const uint32_t shards[] = {0};
  states_.Activate(shards);
  EXPECT_TRUE(states_.IsPlain(0));
  EXPECT_EQ(Find(7).what, What::kHere);
}

TEST_F(ShardStatesTest, TheFormerHomeGivesItsShardAway) {
  Adopt(MapOf(1, kMe));
  EXPECT_THAT(Adopt(MapOf(2, kOther)).given_away, ElementsAre(0));
  EXPECT_FALSE(states_.IsPlain(0));
  EXPECT_EQ(Find(7), (ShardStates::Place{.what = What::kSend, .to = kOther}));
  EXPECT_THAT(Adopt(MapOf(3, kOther)).given_away, IsEmpty());
}

TEST_F(ShardStatesTest, ABackupThatIsNoneAnyMoreDropsItsCopies) {
  Adopt(MapOf(1, kOther, kMe));
  EXPECT_TRUE(states_.any_guard());
  EXPECT_THAT(Adopt(MapOf(2, kOther, kThird)).dropped, ElementsAre(0));
}

TEST_F(ShardStatesTest, ABackupThatBecomesHomeInARecoveryKeepsItsCopies) {
  Adopt(MapOf(1, kOther, kMe));
  const ShardStates::Changes changes = Adopt(Recovered(MapOf(2, kMe), kOther));
  EXPECT_THAT(changes.dropped, IsEmpty());
  EXPECT_TRUE(states_.AnyCollecting());
  EXPECT_TRUE(states_[0].was_backup);
  EXPECT_FALSE(states_[0].copies_partial);
  EXPECT_TRUE(states_[0].owner_lost);
  EXPECT_FALSE(states_[0].directory_complete);
}

TEST_F(ShardStatesTest, ANextBackupHasAllOnlyWhereItWasTheHomeAndNoWorkerWithRowsIsLost) {
  const auto adopt_recovered_after = [&](bool was_home, std::vector<NodeId> lost) {
    states_ = {};
    map_ = {};
    ShardMap map = MapOf(1, kOther, kThird, kMe);
    map.members.push_back({.node = NodeId(4), .role = Role::kWorker, .takes_rows = true});
    map.shards[0].join_id = map.version;
    map.shards[0].routing_since = was_home ? map.version : MapVersion(1, 0);
    Adopt(map);
    Adopt(WithoutFailed(map, lost));
    EXPECT_TRUE(states_[0].was_backup);
    return states_[0].copies_partial;
  };
  EXPECT_FALSE(adopt_recovered_after(true, {kOther, kThird}));
  EXPECT_TRUE(adopt_recovered_after(true, {kOther, kThird, NodeId(4)}));
  EXPECT_TRUE(adopt_recovered_after(false, {kOther, kThird}));
}

TEST_F(ShardStatesTest, WhereOnlyTheBackupIsLostNoOwnerIs) {
  Adopt(MapOf(1, kMe, kOther));
  Adopt(Recovered(MapOf(2, kMe), kOther));
  EXPECT_FALSE(states_[0].owner_lost);
  EXPECT_TRUE(states_[0].directory_complete) << "its directory was complete before";
}

// Servers own no rows of shards that are homed elsewhere, but for the home before, until they have come home.
TEST_F(ShardStatesTest, WhileAHomeMovesOnlyTheOneBeforeAndWorkersMayTakeRowsAlong) {
  constexpr NodeId kFourth{4}, kWorker{5};
  const auto adopt_lost_while_moving = [&](NodeId lost, MapVersion moved_at) {
    states_ = {};
    map_ = {};
    const auto map_of = [&](uint64_t version, NodeId home) {
      ShardMap map = MapOf(version, home, kThird);
      map.shards[0].routing_since = moved_at;
      map.members.push_back({.node = kFourth, .role = Role::kServer});
      map.members.push_back({.node = kWorker, .role = Role::kWorker, .takes_rows = true});
      return map;
    };
    Adopt(map_of(1, kOther));
    Adopt(map_of(2, kMe));
    Adopt(Recovered(map_of(3, kMe), lost));
    return states_[0].owner_lost;
  };
  EXPECT_TRUE(adopt_lost_while_moving(kOther, MapVersion(1, 2)));
  EXPECT_TRUE(adopt_lost_while_moving(kWorker, MapVersion(1, 2)));
  EXPECT_FALSE(adopt_lost_while_moving(kThird, MapVersion(1, 2))) << "the backup owns none";
  EXPECT_FALSE(adopt_lost_while_moving(kFourth, MapVersion(1, 2)));
  EXPECT_TRUE(adopt_lost_while_moving(kFourth, MapVersion(1, 3))) << "there may have been another home in between";
}

// Seed 724573577689 of whole jobs: a home that had missed the map by which it became the home, and heard of the
// recovery that followed, asked for the checkpoint, although the home before was there with all rows.
TEST_F(ShardStatesTest, AHomeThatHasMissedTheMapByWhichItBecameOneKnowsTheHomeBefore) {
  constexpr NodeId kFourth{4};
  const auto adopt = [&](NodeId lost, bool missed_two) {
    states_ = {};
    map_ = {};
    const auto with_fourth = [](ShardMap map) {
      map.members.push_back({.node = kFourth, .role = Role::kServer});
      return map;
    };
    const ShardMap before = with_fourth(MapOf(1, kOther, kThird));
    Adopt(before);
    const PlacementChange moved{.kind = PlacementChange::Kind::kMoveHome, .shard = ShardId(0), .to = kMe};
    ShardMap map = WithChanges(before, {&moved, 1}, before.version.Next());
    if (missed_two) map.version = map.version.Next();
    Adopt(WithoutFailed(map, {&lost, 1}));
    EXPECT_EQ(map_.shards[0].home, kMe);
    return states_[0].owner_lost;
  };
  EXPECT_FALSE(adopt(kFourth, false));
  EXPECT_FALSE(adopt(kThird, false));
  EXPECT_TRUE(adopt(kOther, false));
  EXPECT_TRUE(adopt(kFourth, true)) << "it may have been the home in between";
}

TEST_F(ShardStatesTest, AfterTwoRecoveriesAtOnceNoneThatTheHomeHasNotHeardOfOwnedRows) {
  constexpr NodeId kWorker{4};
  const auto adopt_two_recoveries = [&](bool worker_lost) {
    states_ = {};
    map_ = {};
    ShardMap map = MapOf(1, kMe, kOther);
    map.members.push_back({.node = kWorker, .role = Role::kWorker, .takes_rows = true});
    Adopt(map);
    ShardMap next = Recovered(MapOf(3, kMe), kOther);
    if (!worker_lost) next.members.push_back(map.members.back());
    ++next.recoveries;
    Adopt(next);
    return states_[0].owner_lost;
  };
  EXPECT_FALSE(adopt_two_recoveries(false));
  EXPECT_TRUE(adopt_two_recoveries(true));
}

// Seed 615090103175 of whole jobs: an old home that had all rows missed the map of the first of two recoveries, and
// asked for the checkpoint. What it has depends on those between, which the map says.
TEST_F(ShardStatesTest, OneThatHasMissedARecoveryKnowsByTheMapWhetherItHasAllRows) {
  constexpr NodeId kWorker{4};
  const auto adopt_last_of = [&](const std::vector<std::vector<NodeId>>& losses) {
    states_ = {};
    map_ = {};
    ShardMap map = MapOf(1, kOther, kThird, kMe);  // and this node was its home before
    map.shards[0].join_id = map.shards[0].routing_since = map.version;
    map.members.push_back({.node = kWorker, .role = Role::kWorker, .takes_rows = true});
    Adopt(map);
    for (const std::vector<NodeId>& lost : losses) map = WithoutFailed(map, lost);
    Adopt(map);
    EXPECT_EQ(map.shards[0].home, kMe);
    return states_[0].copies_partial;
  };
  EXPECT_FALSE(adopt_last_of({{kThird}, {kOther}}));
  EXPECT_FALSE(adopt_last_of({{kOther}, {kThird}}));
  EXPECT_TRUE(adopt_last_of({{kThird}, {kWorker}, {kOther}})) << "which may have owned rows that it has no copies of";
  EXPECT_TRUE(adopt_last_of({{kOther, kThird, kWorker}}));
  EXPECT_FALSE(adopt_last_of({{kThird}, {kOther}, {kWorker}})) << "it was the home then";
}

TEST_F(ShardStatesTest, ARestoreThatAnotherRecoveryInterruptsStartsOver) {
  Adopt(MapOf(1, kMe));
  const uint32_t shards[] = {0};
  states_.BeginRestore(shards);
  EXPECT_EQ(states_.NotReady(), 1U);
  EXPECT_FALSE(states_[0].directory_complete);
  EXPECT_TRUE(states_[0].owner_lost);
  states_.Activate(shards);
  EXPECT_TRUE(states_[0].directory_complete);
  EXPECT_FALSE(states_[0].owner_lost);
}

TEST_F(ShardStatesTest, OperationsOnRowsOfTheDirectoryFollowThem) {
  Adopt(MapOf(1, kMe));
  states_.SetEntry({kTable, 7}, {.owner = kOther, .move_number = 1});
  EXPECT_FALSE(states_.IsPlain(0));
  EXPECT_EQ(Find(7), (ShardStates::Place{.what = What::kSend, .to = kOther, .by_home = true}));
  EXPECT_EQ(Find(8).what, What::kHere);
  EXPECT_EQ(Find(7, true).what, What::kHere) << "it has not left yet";
  states_.SetEntry({kTable, 7}, {.owner = kMe, .move_number = 2});
  EXPECT_EQ(Find(7).what, What::kWait);
  states_.EraseEntry({kTable, 7});
  EXPECT_TRUE(states_.IsPlain(0));
}

TEST_F(ShardStatesTest, ARowThatTheHomeSaysIsHereIsOnItsWay) {
  Adopt(MapOf(1, kOther));
  EXPECT_EQ(Find(7, false, true).what, What::kWait);
  EXPECT_EQ(Find(7, false, false).what, What::kSend);
}

TEST_F(ShardStatesTest, EntriesOfAShardThatIsNotReadyMakeItNotPlain) {
  Adopt(MapOf(1, kOther));
  Adopt(MapOf(2, kMe));
  states_.SetEntry({kTable, 7}, {.owner = kOther, .move_number = 1});
  states_.EraseEntry({kTable, 7});
  EXPECT_FALSE(states_.IsPlain(0)) << "the home waits for the rest of its directory";
}

TEST_F(ShardStatesTest, ForeignRowsAreCountedOnceUntilTheirHomeIsHere) {
  Adopt(MapOf(1, kOther));
  MapStore store(TableSpec{.name = "t", .options = {.dim = 1, .optimizer = Sgd{.rate = 1}}});
  const std::vector<Key> first{1}, both{1, 2};
  states_.AddForeign(store, first, map_, kMe);
  ASSERT_TRUE(store.CreateRows(first, RowVersion()).ok());
  states_.AddForeign(store, both, map_, kMe);
  EXPECT_EQ(states_.foreign_rows(), 2U);
  states_.RemoveForeign(0);
  EXPECT_EQ(states_[0].foreign, 1U);
  Adopt(MapOf(2, kMe));
  EXPECT_EQ(states_.foreign_rows(), 0U);
  EXPECT_EQ(states_[0].foreign, 0U);
  const std::vector<Key> third{3};
  states_.AddForeign(store, third, map_, kMe);
  EXPECT_EQ(states_.foreign_rows(), 0U) << "their home is here";
}

TEST_F(ShardStatesTest, RowsThatWereHandedOnAreForeignUntilTheyHaveArrivedOrTheirHomeIsHere) {
  Adopt(MapOf(1, kMe));
  states_.HandoverBegun(0);
  states_.HandoverBegun(0);
  EXPECT_EQ(states_.ForeignHandovers(), 0U) << "the home sees to its own rows";
  Adopt(MapOf(2, kOther));
  EXPECT_EQ(states_.ForeignHandovers(), 2U);
  states_.HandoverEnded(0);
  EXPECT_EQ(states_.ForeignHandovers(), 1U);
  Adopt(MapOf(3, kMe));
  EXPECT_EQ(states_.ForeignHandovers(), 0U);
}

TEST_F(ShardStatesTest, ARecoveryForgetsWhatWasCalledBack) {
  Adopt(MapOf(1, kMe));
  states_.SetEntry({kTable, 7}, {.owner = kOther, .called_back = true});
  Adopt(Recovered(MapOf(2, kMe), kThird));
  EXPECT_EQ(states_.directory().called_back(), 0U);
}

}  // namespace
}  // namespace attune::ps::shard_states_test
