#include "ps/core/protocol/shard_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace attune::ps::shard_map_test {
namespace {

ShardMap SomeMap(uint32_t shards, uint32_t servers, bool backups) {
  ShardMap map;
  map.version = MapVersion(1, 0);
  std::vector<NodeId> ids;
  for (uint32_t i = 1; i <= servers; ++i) {
    ids.push_back(NodeId(i));
    map.members.push_back({.node = NodeId(i), .role = Role::kServer, .index = i - 1, .address = "a"});
  }
  map.shards = EvenShards(shards, ids, backups, map.version);
  return map;
}

TEST(ShardMap, EvenShardsSpreadHomesAndBackups) {
  const ShardMap map = SomeMap(24, 4, true);
  EXPECT_TRUE(Validate(map).ok()) << attune::ToString(Validate(map));
  std::map<NodeId, int> homes, backups;
  std::map<std::pair<NodeId, NodeId>, int> pairs;
  for (const Shard& shard : map.shards) {
    ++homes[shard.home];
    ++backups[shard.backup];
    ++pairs[{shard.home, shard.backup}];
  }
  for (const auto& [node, count] : homes) EXPECT_EQ(count, 6) << node;
  for (const auto& [node, count] : backups) EXPECT_EQ(count, 6) << node;
  EXPECT_EQ(pairs.size(), 12U) << "the copies of one home are on all others";
}

TEST(ShardMap, OneServerHasNoBackups) { EXPECT_EQ(SomeMap(4, 1, true).shards[0].backup, NodeId()); }

TEST(ShardMap, ABackupBecomesHomeWhenTheHomeFails) {
  ShardMap map = SomeMap(12, 3, true);
  map.version = map.version.Next();
  map.shards[0].next_backup = NodeId(3);
  map.shards[0].join_id = map.version;
  ASSERT_EQ(map.shards[0].home, NodeId(1));
  ASSERT_EQ(map.shards[0].backup, NodeId(2));
  const NodeId failed[] = {NodeId(1)};
  const ShardMap next = WithoutFailed(map, failed);
  EXPECT_TRUE(Validate(next).ok()) << attune::ToString(Validate(next));
  EXPECT_EQ(next.recovered_at, next.version);
  EXPECT_EQ(next.recoveries, 1);
  EXPECT_FALSE(next.Contains(NodeId(1)));
  EXPECT_EQ(next.shards[0].home, NodeId(2));
  EXPECT_EQ(next.shards[0].backup, NodeId());
  EXPECT_EQ(next.shards[0].next_backup, NodeId()) << "a failure cancels joins";
  for (const Shard& shard : next.shards) EXPECT_EQ(shard.routing_since, next.version);
}

// Of servers 1 to 4 and worker 5: the home has moved from 3 to 1 in this version, where 2 has the copies.
ShardMap TradedMap() {
  ShardMap map = SomeMap(1, 4, false);
  map.members.push_back({.node = NodeId(5), .role = Role::kWorker, .takes_rows = true});
  map.version = map.version.Next();
  map.shards[0] = {.home = NodeId(1),
                   .backup = NodeId(2),
                   .next_backup = NodeId(3),
                   .join_id = map.version,
                   .routing_since = map.version};
  return map;
}

TEST(ShardMap, AHomeThatHasGivenItsShardAwayHasAllOfItButWhatWorkersOwn) {
  struct Case {
    const char* name;
    std::vector<NodeId> failed;
    bool next_has_all;
    size_t uncovered;
    NodeId home, backup, next_backup;  // after the recovery
  };
  const NodeId none;
  const Case cases[] = {
      {"the new home", {NodeId(1)}, true, 0, NodeId(2), none, NodeId(3)},
      {"the backup", {NodeId(2)}, true, 0, NodeId(1), none, NodeId(3)},
      {"both", {NodeId(1), NodeId(2)}, true, 0, NodeId(3), none, none},
      {"the old home", {NodeId(3)}, false, 0, NodeId(1), NodeId(2), none},
      {"a server that has nothing to do with it", {NodeId(4)}, true, 0, NodeId(1), NodeId(2), NodeId(3)},
      {"a worker that may own rows", {NodeId(5)}, false, 0, NodeId(1), NodeId(2), none},
      {"both and a worker that may own rows", {NodeId(1), NodeId(2), NodeId(5)}, false, 1, NodeId(3), none, none},
      {"both and a node that is not known", {NodeId(1), NodeId(2), none}, false, 1, NodeId(3), none, none},
      {"all but one", {NodeId(1), NodeId(2), NodeId(3)}, false, 1, NodeId(4), none, none},
  };
  const ShardMap map = TradedMap();
  ASSERT_TRUE(Validate(map).ok()) << attune::ToString(Validate(map));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(NextHasAllOf(map, map.shards[0], c.failed), c.next_has_all);
    EXPECT_EQ(CountUncovered(map, c.failed), c.uncovered);
    const ShardMap next = WithoutFailed(map, c.failed);
    EXPECT_TRUE(Validate(next).ok()) << attune::ToString(Validate(next));
    EXPECT_EQ(next.shards[0].uncovered_at, c.uncovered > 0 ? next.version : MapVersion());
    EXPECT_EQ(next.shards[0].home, c.home);
    EXPECT_EQ(next.shards[0].backup, c.backup);
    EXPECT_EQ(next.shards[0].next_backup, c.next_backup);
    EXPECT_EQ(next.shards[0].next_was_home(), c.next_backup != none);
  }
}

TEST(ShardMap, AMachineThatIsLostServerByServerLosesNothingOfATradedShard) {
  for (const auto& [first, last] : {std::pair(NodeId(1), NodeId(2)), std::pair(NodeId(2), NodeId(1))}) {
    const NodeId once[] = {first}, again[] = {last};
    const ShardMap between = WithoutFailed(TradedMap(), once);
    EXPECT_EQ(CountUncovered(between, again), 0U);
    EXPECT_EQ(WithoutFailed(between, again).shards[0].home, NodeId(3));
  }
}

TEST(ShardMap, AnOrdinaryNextBackupHasNotAll) {
  ShardMap map = TradedMap();
  map.version = map.version.Next();
  map.shards[0].join_id = map.version;
  const NodeId both[] = {NodeId(1), NodeId(2)};
  EXPECT_FALSE(map.shards[0].next_was_home());
  EXPECT_EQ(CountUncovered(map, both), 1U);
}

TEST(ShardMap, WithoutABackupSomeSurvivorBecomesHome) {
  const NodeId failed[] = {NodeId(2)};
  const ShardMap next = WithoutFailed(SomeMap(6, 3, false), failed);
  EXPECT_TRUE(Validate(next).ok());
  for (const Shard& shard : next.shards) EXPECT_NE(shard.home, NodeId(2));
}

TEST(ShardMap, AServerThatHasNoTablesYetBecomesHomeOnlyWhenThereIsNoOther) {
  ShardMap map = SomeMap(6, 3, false);
  const NodeId failed[] = {NodeId(2)}, joining[] = {NodeId(3)}, all[] = {NodeId(1), NodeId(3)};
  const auto homes = [&](std::span<const NodeId> without_tables) {  // of what the failed one was home of
    std::set<NodeId> found;
    const ShardMap next = WithoutFailed(map, failed, without_tables);
    EXPECT_TRUE(Validate(next).ok());
    for (size_t i = 0; i < map.shards.size(); ++i) {
      if (map.shards[i].home == NodeId(2)) found.insert(next.shards[i].home);
    }
    return found;
  };
  EXPECT_EQ(homes(joining), std::set{NodeId(1)});
  for (Member& member : map.members) member.leaving = member.node == NodeId(1);
  EXPECT_EQ(homes({}), std::set{NodeId(3)});
  EXPECT_EQ(homes(joining), std::set{NodeId(1)}) << "one that leaves has the rows' table";
  EXPECT_FALSE(homes(all).empty()) << "a member has to";
}

TEST(ShardMap, ValidateNamesWhatIsWrong) {
  struct Case {
    const char* name;
    void (*damage)(ShardMap&);
    const char* says;
  };
  const Case cases[] = {
      {"no version", [](ShardMap& map) { map.version = {}; }, "no version"},
      {"home is no member", [](ShardMap& map) { map.shards[1].home = NodeId(9); }, "shard 1: home 9"},
      {"backup is the home", [](ShardMap& map) { map.shards[0].backup = map.shards[0].home; }, "shard 0: backup 1"},
      {"next backup is the backup", [](ShardMap& map) { map.shards[0].next_backup = map.shards[0].backup; },
       "next backup 2"},
      {"voters twice for one map",
       [](ShardMap& map) {
         map.voters = {{MapVersion(1), {NodeId(1)}}, {MapVersion(1), {NodeId(2)}}};
       },
       "voters that are out of order"},
      {"voters of a later map",
       [](ShardMap& map) {
         map.voters = {{map.version.Next(), {NodeId(1)}}};
       },
       "out of order"},
      {"voters of which one has no votes",
       [](ShardMap& map) {
         map.voters = {{map.version, {NodeId(1), NodeId(2)}, {1, 0}}};
       },
       "voters of which not every one has votes"},
      {"fewer numbers of votes than voters",
       [](ShardMap& map) {
         map.voters = {{map.version, {NodeId(1), NodeId(2)}, {1}}};
       },
       "voters of which not every one has votes"},
      {"no voters",
       [](ShardMap& map) {
         map.voters = {{map.version, {}}};
       },
       "0 voters"},
      {"voters out of order",
       [](ShardMap& map) {
         map.voters = {{map.version, {NodeId(2), NodeId(1)}}};
       },
       "order of their node ids"},
      {"a voter that is none",
       [](ShardMap& map) {
         map.voters = {{map.version, {NodeId(0)}}};
       },
       "order of their"},
      {"members out of order", [](ShardMap& map) { std::swap(map.members[0], map.members[1]); }, "order"},
      {"state of a later coordinator", [](ShardMap& map) { map.records_from = ~uint64_t{0}; }, "later coordinator"},
      {"mark of a later coordinator", [](ShardMap& map) { map.marked = CutId(~uint64_t{0}); }, "later coordinator"},
      {"recovers later", [](ShardMap& map) { map.recovered_at = map.version.Next(); }, "later"},
      {"no shards", [](ShardMap& map) { map.shards.clear(); }, "0 shards"},
  };
  for (const Case& one : cases) {
    ShardMap map = SomeMap(4, 3, true);
    one.damage(map);
    const Status status = Validate(map);
    EXPECT_FALSE(status.ok()) << one.name;
    EXPECT_NE(attune::ToString(status).find(one.says), std::string::npos)
        << one.name << ": " << attune::ToString(status);
  }
}

}  // namespace
}  // namespace attune::ps::shard_map_test
