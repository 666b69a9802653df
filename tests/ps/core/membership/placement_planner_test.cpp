// Properties of placement plans, over random maps.
#include "ps/core/membership/placement_planner.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/random.h"
#include "tests/base/seeds.h"

namespace attune::ps::placement_planner_test {
namespace {

ShardMap Formed(uint32_t shards, const std::vector<NodeId>& servers, bool backups) {
  ShardMap map;
  map.version = MapVersion(1, 1);
  map.shards = EvenShards(shards, servers, backups, map.version);
  return map;
}

bool Apart(const PlacementGoal& goal, NodeId a, NodeId b) {
  const auto machine_of_a = goal.machines.find(a), machine_of_b = goal.machines.find(b);
  const auto end = goal.machines.end();
  return machine_of_a == end || machine_of_b == end || machine_of_a->second.empty() ||
         machine_of_a->second != machine_of_b->second;
}

// A machine that is lost in the middle of this change takes no row along that would not be lost without the change.
void ExpectKeptApart(const PlacementGoal& goal, const Shard& before, const Shard& after, ShardId shard) {
  if (before.backup == NodeId() || after.backup == NodeId() || !Apart(goal, before.home, before.backup)) return;
  const bool left_behind = after.next_was_home() && after.next_backup == before.home;
  EXPECT_TRUE(Apart(goal, after.home, after.backup) || (left_behind && Apart(goal, after.home, after.next_backup)))
      << "shard " << shard;
  // The next backup becomes the backup, and this state lasts until another change.
  const bool is_there_another = std::ranges::any_of(
      goal.servers, [&](NodeId server) { return server != after.home && Apart(goal, server, after.home); });
  if (after.next_backup != NodeId() && is_there_another) {
    EXPECT_TRUE(Apart(goal, after.home, after.next_backup)) << "shard " << shard;
  }
}

// What the coordinator does: plan, publish, wait until copies are complete, plan again. Returns the changes made.
std::vector<PlacementChange> CarryOut(ShardMap& map, const PlacementGoal& goal) {
  std::vector<PlacementChange> all;
  for (int round = 0; round < 10'000; ++round) {
    const std::vector<PlacementChange> changes = PlanPlacement(map, goal);
    if (changes.empty()) return all;
    EXPECT_LE(changes.size(), goal.changes_max);
    std::set<ShardId> touched;
    for (const PlacementChange& change : changes) {
      EXPECT_TRUE(touched.insert(change.shard).second) << "shard " << change.shard << " is changed twice at a time";
    }
    const ShardMap before = std::exchange(map, WithChanges(map, changes, map.version.Next()));
    for (const PlacementChange& change : changes) {
      ExpectKeptApart(goal, before.At(change.shard), map.At(change.shard), change.shard);
    }
    for (Shard& shard : map.shards) {
      EXPECT_NE(shard.home, shard.backup);
      EXPECT_TRUE(shard.next_backup == NodeId() || shard.next_backup != shard.home);
      if (shard.next_backup != NodeId()) shard.backup = std::exchange(shard.next_backup, NodeId());
      shard.join_id = MapVersion();
    }
    all.insert(all.end(), changes.begin(), changes.end());
  }
  ADD_FAILURE() << "the plan never ends";
  return all;
}

size_t Moves(const std::vector<PlacementChange>& changes) {
  return static_cast<size_t>(std::ranges::count(changes, PlacementChange::Kind::kMoveHome, &PlacementChange::kind));
}

bool DropsAny(const std::vector<PlacementChange>& changes) {
  return std::ranges::find(changes, PlacementChange::Kind::kDropBackup, &PlacementChange::kind) != changes.end();
}

std::map<NodeId, int> HomesByServer(const ShardMap& map) {
  std::map<NodeId, int> count;
  for (const Shard& shard : map.shards) ++count[shard.home];
  return count;
}

const NodeId kA{1}, kB{2}, kC{3};

TEST(PlacementPlanner, AnEvenMapNeedsNothing) {
  EXPECT_TRUE(PlanPlacement(Formed(64, {kA, kB}, true), {.servers = {kA, kB}, .backups = 1, .weights = {}}).empty());
}

TEST(PlacementPlanner, ANewServerGetsItsShareAndNothingElseMoves) {
  ShardMap map = Formed(60, {kA, kB}, false);
  EXPECT_EQ(Moves(CarryOut(map, {.servers = {kA, kB, kC}, .weights = {}})), 20U);
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 20}, {kB, 20}, {kC, 20}}));
}

TEST(PlacementPlanner, ADrainedServerIsEmptiedAndOnlyItsShardsMove) {
  ShardMap map = Formed(60, {kA, kB, kC}, false);
  EXPECT_EQ(Moves(CarryOut(map, {.servers = {kA, kC}, .weights = {}})), 20U);
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 30}, {kC, 30}}));
}

TEST(PlacementPlanner, TheLastServerTakesAllAndCopiesAreGivenUp) {
  ShardMap map = Formed(16, {kA, kB}, true);
  CarryOut(map, {.servers = {kB}, .backups = 1, .weights = {}});
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kB, 16}}));
  for (const Shard& shard : map.shards) EXPECT_EQ(shard.backup, NodeId());
}

TEST(PlacementPlanner, ASecondServerBringsCopies) {
  ShardMap map = Formed(16, {kA}, false);
  CarryOut(map, {.servers = {kA, kB}, .backups = 1, .weights = {}});
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 8}, {kB, 8}}));
  for (const Shard& shard : map.shards) EXPECT_NE(shard.backup, NodeId());
}

TEST(PlacementPlanner, AfterTwoServersHaveBecomeOneAndTwoAgainHomesAreEven) {
  ShardMap map = Formed(16, {kA, kB}, true);
  for (Shard& shard : map.shards) shard = {.home = kA, .backup = kB};  // B was away; its copies are back
  CarryOut(map, {.servers = {kA, kB}, .backups = 1, .weights = {}});
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 10}, {kB, 6}})) << "a third above the mean at most";
  for (const Shard& shard : map.shards) EXPECT_NE(shard.backup, NodeId());
}

TEST(PlacementPlanner, TwoServersGiveUpNoCopyToBeALittleMoreEven) {
  ShardMap map = Formed(30, {kA, kB}, true);
  for (size_t i = 0; i < 4; ++i) map.shards[2 * i + 1] = {.home = kA, .backup = kB};
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 19}, {kB, 11}}));
  EXPECT_TRUE(PlanPlacement(map, {.servers = {kA, kB}, .backups = 1, .weights = {}}).empty());
}

// All copies of the drained one are at the same server, so that the other would become the home of all of it.
TEST(PlacementPlanner, WhoIsDrainedLeavesTwoEvenServersAndNoCopyIsGivenUp) {
  ShardMap map = Formed(30, {kA, kB, kC}, true);
  for (Shard& shard : map.shards) {
    if (shard.home == kC) shard.backup = kB;
  }
  EXPECT_FALSE(DropsAny(CarryOut(map, {.servers = {kA, kB}, .backups = 1, .weights = {}})));
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 15}, {kB, 15}}));
}

TEST(PlacementPlanner, AHotShardCountsForMany) {
  ShardMap map = Formed(8, {kA, kB}, false);
  std::vector<double> weights(8, 1);
  weights[0] = 6;  // at A with three others
  CarryOut(map, {.servers = {kA, kB}, .weights = weights});
  double at_a = 0;
  for (size_t i = 0; i < 8; ++i) at_a += map.shards[i].home == kA ? weights[i] : 0;
  EXPECT_NEAR(at_a, 6.5, 3);
}

std::map<NodeId, std::string> Machines(std::initializer_list<std::pair<const NodeId, std::string>> machines) {
  return machines;
}

int CopiesBesideTheirHome(const ShardMap& map, const std::map<NodeId, std::string>& machines) {
  return static_cast<int>(std::ranges::count_if(map.shards, [&](const Shard& shard) {
    return shard.backup != NodeId() && machines.at(shard.home) == machines.at(shard.backup);
  }));
}

const NodeId kD{4};

TEST(PlacementPlanner, AHomeThatMovesBesideItsCopyLeavesAnotherBehind) {
  const PlacementGoal goal{.servers = {kA, kB, kC},
                           .backups = 1,
                           .weights = {},
                           .machines = Machines({{kA, "one"}, {kB, "two"}, {kC, "two"}})};
  const ShardMap map = Formed(4, {kA, kB}, true);  // C, which has come, can only relieve one whose copies are beside it
  const std::vector<PlacementChange> changes = PlanPlacement(map, goal);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].kind, PlacementChange::Kind::kTradePlace);
  const Shard moved = WithChanges(map, changes, map.version.Next()).At(changes[0].shard);
  EXPECT_EQ(moved, (Shard{.home = kC,
                          .backup = kB,
                          .next_backup = kA,
                          .join_id = map.version.Next(),
                          .routing_since = map.version.Next()}));
  EXPECT_TRUE(moved.next_was_home());
}

// All copies of the drained one are at the only server of the other machine. A copy that moved to B first, to leave two
// even servers, would be beside its home until that has moved.
TEST(PlacementPlanner, ACopyDoesNotMoveBesideAHomeThatIsAboutToMove) {
  const PlacementGoal goal{
      .servers = {kA, kB}, .backups = 1, .weights = {}, .machines = Machines({{kA, "one"}, {kB, "two"}, {kC, "two"}})};
  ShardMap map = Formed(12, {kA, kB, kC}, true);
  for (Shard& shard : map.shards) shard.backup = shard.home == kA ? kB : kA;
  EXPECT_FALSE(DropsAny(CarryOut(map, goal)));
  EXPECT_EQ(CopiesBesideTheirHome(map, goal.machines), 0);
}

TEST(PlacementPlanner, NoCopyIsOnTheMachineOfItsHomeWhereThereIsAnother) {
  const auto machines = Machines({{kA, "one"}, {kB, "one"}, {kC, "two"}, {kD, "two"}});
  const PlacementGoal goal{.servers = {kA, kB, kC, kD}, .backups = 1, .weights = {}, .machines = machines};
  const ShardMap map = PlacedAtOnce(Formed(64, goal.servers, true), goal);
  EXPECT_EQ(CopiesBesideTheirHome(map, machines), 0);
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 16}, {kB, 16}, {kC, 16}, {kD, 16}}));
}

TEST(PlacementPlanner, AServerOnAnotherMachineTakesTheCopiesThoughTheyAreUnevenThen) {
  const auto machines = Machines({{kA, "one"}, {kB, "one"}, {kC, "two"}});
  ShardMap map = Formed(60, {kA, kB}, true);
  CarryOut(map, {.servers = {kA, kB, kC}, .backups = 1, .weights = {}, .machines = machines});
  EXPECT_EQ(CopiesBesideTheirHome(map, machines), 0);
  EXPECT_EQ(HomesByServer(map), (std::map<NodeId, int>{{kA, 20}, {kB, 20}, {kC, 20}}));
}

TEST(PlacementPlanner, OnOneMachineCopiesAreKeptAllTheSame) {
  const auto machines = Machines({{kA, "one"}, {kB, "one"}});
  ShardMap map = Formed(16, {kA, kB}, false);
  CarryOut(map, {.servers = {kA, kB}, .backups = 1, .weights = {}, .machines = machines});
  EXPECT_EQ(CopiesBesideTheirHome(map, machines), 16);
}

TEST(PlacementPlanner, ServersOnMachinesThatAreNotKnownCountAsApart) {
  const auto machines = Machines({{kA, ""}, {kB, ""}});
  EXPECT_TRUE(PlanPlacement(Formed(64, {kA, kB, kC}, true),
                            {.servers = {kA, kB, kC}, .backups = 1, .weights = {}, .machines = machines})
                  .empty());
}

// With one server on each of two machines the drained one's shards go to the machine that has no copy of them.
TEST(PlacementPlanner, AHomeMovesToWhereItsCopyNeedNotMove) {
  const auto machines = Machines({{kA, "one"}, {kB, "two"}, {kC, "three"}, {kD, "two"}});
  ShardMap map = Formed(1, {kA}, false);
  map.shards[0].backup = kB;
  const std::vector<PlacementChange> changes =
      CarryOut(map, {.servers = {kB, kD, kC}, .backups = 1, .weights = {}, .machines = machines});
  EXPECT_EQ(map.shards[0].home, kC);
  EXPECT_EQ(changes.size(), 1U);
}

// From any map to any wanted set of servers on any machines: the plan ends, the unwanted are empty, every shard has the
// copies asked for, on another machine than the home where there is one, and homes are even.
TEST(PlacementPlanner, ReachesItsGoalFromAnyMap) {
  ForSeeds(500, [](uint64_t seed) {
    Random random(seed);
    const auto count = static_cast<uint32_t>(1 + random.Below(6));
    const auto shards = static_cast<uint32_t>(count + random.Below(80));
    ShardMap map;
    map.version = MapVersion(1, 1);
    for (uint32_t i = 0; i < shards; ++i) {
      Shard shard{.home = NodeId(static_cast<uint32_t>(1 + random.Below(count)))};
      if (random.Chance(0.5)) shard.backup = NodeId(static_cast<uint32_t>(1 + random.Below(count)));
      if (shard.backup == shard.home) shard.backup = NodeId();
      map.shards.push_back(shard);
    }
    PlacementGoal goal{.backups = static_cast<uint32_t>(random.Below(2)), .weights = {}};
    for (uint32_t i = 1; i <= count + 2; ++i) {
      if (random.Chance(0.6)) goal.servers.push_back(NodeId(i));
    }
    if (goal.servers.empty()) goal.servers.push_back(NodeId(1));
    goal.changes_max = 1 + random.Below(10);
    Random places(SplitMix64(seed));
    const auto machines = static_cast<uint32_t>(places.Below(4));
    std::set<std::string> wanted_machines;
    // Also of servers that are to be emptied: what they hold counts until it has moved.
    for (uint32_t i = 1; i <= count + 2; ++i) {
      goal.machines[NodeId(i)] = machines == 0 ? "" : std::to_string(places.Below(machines));
    }
    for (const NodeId server : goal.servers) wanted_machines.insert(goal.machines[server]);
    const bool weighted = random.Chance(0.3);
    for (uint32_t i = 0; i < shards && weighted; ++i) goal.weights.push_back(random.Uniform() * 10);
    std::ostringstream text;
    text << count << " servers, " << shards << " shards, " << goal.servers.size() << " wanted on " << machines
         << " machines, backups " << goal.backups << (weighted ? ", weighted" : "");
    SCOPED_TRACE(text.str());

    CarryOut(map, goal);

    std::map<NodeId, double> load;
    for (const NodeId server : goal.servers) load[server] = 0;
    double total = 0, heaviest = 0;
    for (uint32_t i = 0; i < shards; ++i) {
      const double weight = weighted ? goal.weights[i] : 1;
      ASSERT_TRUE(load.contains(map.shards[i].home));
      load[map.shards[i].home] += weight;
      total += weight;
      heaviest = std::max(heaviest, weight);
      const bool copy = map.shards[i].backup != NodeId();
      ASSERT_EQ(copy, goal.backups == 1 && goal.servers.size() > 1);
      if (copy) {
        ASSERT_TRUE(load.contains(map.shards[i].backup));
        if (wanted_machines.size() > 1) {
          ASSERT_NE(goal.machines.at(map.shards[i].home), goal.machines.at(map.shards[i].backup));
        }
      }
    }
    const auto [least, most] = std::ranges::minmax_element(load, {}, [](const auto& entry) { return entry.second; });
    const double mean = total / static_cast<double>(goal.servers.size());
    ASSERT_LE(most->second - least->second, std::max(2 * heaviest, 0.05 * mean) + 1e-9);
  });
}

}  // namespace
}  // namespace attune::ps::placement_planner_test
