// A server is lost and its rows have no copy: the new homes take them from a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "ps/core/rows/row_node.h"

namespace attune::ps::row_restore_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kA{1}, kB{2}, kLost{3}, kWorker{4};
constexpr TableId kTable{1};
const TableSpec kSpec{.name = "t", .options = {.dim = 1, .optimizer = Sgd{.rate = 1}}};
const RestorePoint kPoint{.directory = "/c", .checkpoint = 7, .clock = 40};

ShardMap ThreeServers() {
  const NodeId servers[] = {kA, kB, kLost};
  ShardMap map;
  map.version = MapVersion(1, 1);
  map.shards = EvenShards(12, servers, false, map.version);
  map.members = {{.node = kA, .role = Role::kServer, .index = 0, .address = "a"},
                 {.node = kB, .role = Role::kServer, .index = 1, .address = "b"},
                 {.node = kLost, .role = Role::kServer, .index = 2, .address = "c"},
                 {.node = kWorker, .role = Role::kWorker, .index = 0}};
  return map;
}

class Node {
 public:
  explicit Node(NodeId self, const ShardMap& map = ThreeServers())
      : rows({.create_store = [](const TableSpec& spec) { return TableStore::Create(spec); }}) {
    rows.SetSelf(self);
    rows.AdoptMap(map, {}, out);
    EXPECT_TRUE(rows.InstallTable(kTable, kSpec).ok());
    rows.SetRestorePoint(kPoint);
    Collect();
  }
  void Receive(NodeId from, Message message) {
    rows.Receive(from, std::move(message), {}, out);
    Collect();
  }
  void Push(const std::vector<Key>& keys, uint64_t sequence) {
    Receive(kWorker, ps::Push{.origin = kWorker,
                              .sequence = SequenceNumber(sequence),
                              .table = kTable,
                              .map_version = rows.map().version,
                              .acked_below = {},
                              .positions = {.first = 0, .count = static_cast<uint32_t>(keys.size()), .list = {}},
                              .keys = keys,
                              .gradients = std::vector<float>(keys.size(), -1.0F)});
  }
  void Adopt(const ShardMap& map) {
    rows.AdoptMap(map, {}, out);
    Collect();
  }
  void Restore(const TableStore* store, const FilterRecords& filter = {}) {
    ASSERT_THAT(orders, SizeIs(1));
    rows.Restore(std::exchange(orders, {})[0], store, filter, {}, out);
    Collect();
  }
  std::optional<RowView> Find(Key key) const {
    std::optional<RowView> found;
    rows.tables()[0]->VisitRows({&key, 1}, [&](const RowView& row) { found = row; });
    return found;
  }
  float Value(Key key) const {
    float value = 0;
    rows.tables()[0]->Pull({&key, 1}, {&value, 1});
    return value;
  }

  RowNode rows;
  RowOutputs out;
  std::vector<Outgoing> sent;     // to servers
  std::vector<Message> answered;  // to the worker
  std::vector<RestoreOrder> orders;

 private:
  void Collect() {
    for (Outgoing& message : out.send) {
      if (message.to == kWorker) {
        answered.push_back(std::move(message.message));
      } else {
        sent.push_back(std::move(message));
      }
    }
    for (RestoreOrder& order : out.restore) orders.push_back(std::move(order));
    EXPECT_FALSE(out.lost);
    out.Clear();
  }
};

void Carry(Node& a, Node& b) {
  while (!a.sent.empty() || !b.sent.empty()) {
    for (Outgoing& message : std::exchange(a.sent, {})) {
      if (message.to == kB) b.Receive(kA, std::move(message.message));
    }
    for (Outgoing& message : std::exchange(b.sent, {})) {
      if (message.to == kA) a.Receive(kB, std::move(message.message));
    }
  }
}

// Keys of shards that `home` has before, and after, the loss.
std::vector<Key> KeysOf(NodeId before, NodeId after, size_t count) {
  const ShardMap map = ThreeServers(), next = WithoutFailed(map, std::array{kLost});
  std::vector<Key> keys;
  for (Key key = 1; keys.size() < count; ++key) {
    if (map.HomeOf(key) == before && next.HomeOf(key) == after) keys.push_back(key);
  }
  return keys;
}

// A checkpoint's rows, each with this many pushes.
std::unique_ptr<TableStore> Saved(const std::vector<Key>& keys, uint64_t pushes) {
  std::unique_ptr<TableStore> store = *TableStore::Create(kSpec);
  const auto value = static_cast<float>(pushes);
  for (const Key key : keys) {
    EXPECT_TRUE(store->Insert(RowView{.key = key, .version = RowVersion(0, pushes), .values = {&value, 1}}).ok());
  }
  return store;
}

struct Loss {
  Node a{kA}, b{kB};
  void Begin() {
    const ShardMap next = WithoutFailed(ThreeServers(), std::array{kLost});
    a.Adopt(next);
    b.Adopt(next);
    Carry(a, b);
  }
};

TEST(RowRestoreTest, LostRowsComeFromTheCheckpointInANewEraAndOperationsWaitForThem) {
  Loss loss;
  Node& home = loss.a;
  const std::vector<Key> lost = KeysOf(kLost, kA, 4), own = KeysOf(kA, kA, 1);
  home.Push(own, 1);
  loss.Begin();
  ASSERT_THAT(home.orders, SizeIs(1));
  EXPECT_EQ(home.orders[0].point, kPoint);
  for (const ShardId shard : home.orders[0].shards) EXPECT_EQ(ThreeServers().At(shard).home, kLost);
  EXPECT_GT(home.rows.Report().shards_not_ready, 0U);
  home.answered.clear();
  home.Push(lost, 2);
  EXPECT_THAT(home.answered, IsEmpty()) << "the rows are on their way";
  home.Push(own, 3);
  EXPECT_THAT(home.answered, SizeIs(1)) << "others are not held up";

  std::vector<Key> saved = lost;
  saved.push_back(own[0]);  // not of a shard that was lost
  const auto store = Saved(saved, 5);
  home.Restore(store.get());
  EXPECT_THAT(home.answered, SizeIs(2));
  for (const Key key : lost) {
    EXPECT_EQ(home.Value(key), 6) << "of the checkpoint, and the push that waited";
    EXPECT_EQ(home.Find(key)->version, RowVersion(1, 6));
  }
  EXPECT_EQ(home.Value(own[0]), 2);
  EXPECT_EQ(home.rows.Report().shards_not_ready, 0U);
  EXPECT_EQ(home.rows.Report().rows_restored, 4U);
  EXPECT_EQ(home.rows.Report().rows_begun_anew, 0U);
}

// A has just become home of B's shards, and has not heard from B where their rows are, when their backup is lost.
TEST(RowRestoreTest, AServerThatWasOnlyABackupTakesNoRowAlong) {
  ShardMap map = ThreeServers();
  for (Shard& shard : map.shards) shard = {.home = kB, .backup = kLost, .routing_since = map.version};
  Node a(kA, map), b(kB, map);
  b.Push({1, 2, 3}, 1);
  map.version = map.version.Next();
  for (Shard& shard : map.shards) shard = {.home = kA, .backup = kLost, .routing_since = map.version};
  a.Adopt(map);
  b.Adopt(map);
  b.sent.clear();
  const ShardMap next = WithoutFailed(map, std::array{kLost});
  a.Adopt(next);
  b.Adopt(next);
  Carry(a, b);
  EXPECT_THAT(a.orders, IsEmpty());
  EXPECT_EQ(a.rows.Report().shards_restored, 0U);
  EXPECT_EQ(a.rows.Report().shards_not_ready, 0U);
  for (const Key key : {1, 2, 3}) EXPECT_EQ(a.Value(key), 1) << "B had it, and was asked";
}

// Then A hears of B's loss as well, before it has heard where the rows are.
TEST(RowRestoreTest, WhoWasHomeTakesRowsAlong) {
  ShardMap map = ThreeServers();
  for (Shard& shard : map.shards) shard = {.home = kB, .backup = kLost, .routing_since = map.version};
  Node a(kA, map);
  map.version = map.version.Next();
  for (Shard& shard : map.shards) shard = {.home = kA, .backup = kLost, .routing_since = map.version};
  a.Adopt(map);
  map = WithoutFailed(map, std::array{kLost});
  a.Adopt(map);
  EXPECT_THAT(a.orders, IsEmpty());
  a.Adopt(WithoutFailed(map, std::array{kB}));
  ASSERT_THAT(a.orders, SizeIs(1));
  EXPECT_THAT(a.orders[0].shards, SizeIs(map.shard_count()));
}

TEST(RowRestoreTest, APushThatTheCheckpointContainsCountsOnceWhenItIsIssuedAgain) {
  Loss loss;
  Node& home = loss.a;
  const std::vector<Key> lost = KeysOf(kLost, kA, 2);
  loss.Begin();
  home.Push(lost, 9);
  const auto store = Saved(lost, 5);
  home.Restore(
      store.get(),
      {.origins = {},
       .pushes = {
           {.origin = kWorker.value(), .sequence = 9, .table = kTable.value(), .keys = {lost[0]}, .positions = {0}}}});
  EXPECT_EQ(home.Value(lost[0]), 5) << "it held push 9 already";
  EXPECT_EQ(home.Value(lost[1]), 6);
}

TEST(RowRestoreTest, ARowThatLivesElsewhereIsNewerThanTheCheckpoint) {
  Loss loss;
  // The lost server is its home, B owned it.
  const std::vector<Key> keys = KeysOf(kLost, kA, 2);
  const auto store = Saved({keys[0]}, 8);
  std::vector<float> value = {8};
  loss.b.Receive(kLost, Handover{.map_version = MapVersion(1, 1),
                                 .handover = 1,
                                 .mark = {},
                                 .rows = {.table = kTable,
                                          .keys = std::vector<Key>{keys[0]},
                                          .versions = std::vector<RowVersion>{RowVersion(0, 8)},
                                          .move_numbers = std::vector<uint16_t>{1},
                                          .values = value},
                                 .records = {}});
  loss.b.sent.clear();
  loss.Begin();
  const auto saved = Saved(keys, 5);
  loss.a.Restore(saved.get());
  Carry(loss.a, loss.b);  // its home calls it back
  EXPECT_EQ(loss.a.Value(keys[0]), 8);
  EXPECT_EQ(loss.a.Value(keys[1]), 5);
  EXPECT_EQ(loss.a.rows.Report().rows_restored, 1U);
}

TEST(RowRestoreTest, RowsKnownToHaveMovedToTheLostServerAreRestoredOrCountedAsBegunAnew) {
  Loss loss;
  Node& home = loss.a;
  const std::vector<Key> keys = KeysOf(kA, kA, 3);
  home.Push(keys, 1);
  home.Receive(kWorker, Localize{.map_version = MapVersion(1, 1), .table = kTable, .to = kLost, .keys = keys});
  home.sent.clear();  // it has taken them, and dies
  loss.Begin();
  const auto saved = Saved({keys[0], keys[1]}, 1);
  home.Restore(saved.get());
  EXPECT_EQ(home.Value(keys[0]), 1);
  EXPECT_EQ(home.rows.Report().rows_restored, 2U);
  EXPECT_EQ(home.rows.Report().rows_begun_anew, 1U);
  home.Push({keys[2]}, 2);
  EXPECT_EQ(home.Find(keys[2])->version, RowVersion(1, 1)) << "later than anything seen of it";
}

TEST(RowRestoreTest, WithoutACheckpointThatCanBeReadRowsBeginAnew) {
  Loss loss;
  loss.a.rows.SetRestorePoint({});
  const std::vector<Key> lost_a = KeysOf(kLost, kA, 1), lost_b = KeysOf(kLost, kB, 1);
  loss.Begin();
  EXPECT_THAT(loss.a.orders, IsEmpty());
  loss.a.Push(lost_a, 1);
  EXPECT_EQ(loss.a.Value(lost_a[0]), 1);
  loss.b.Restore(nullptr);
  loss.b.Push(lost_b, 2);
  EXPECT_EQ(loss.b.Value(lost_b[0]), 1);
  EXPECT_GT(loss.b.rows.Report().shards_restored, 0U);
}

// It was to become the backup: some copies had been made, the rest is nowhere.
TEST(RowRestoreTest, WhatAnUnfinishedBackupHasNotGotComesFromTheCheckpoint) {
  Loss loss;
  ShardMap joining = ThreeServers();
  joining.version = joining.version.Next();
  for (Shard& shard : joining.shards) {
    if (shard.home == kLost) shard.next_backup = kA, shard.join_id = joining.version;
  }
  std::vector<Key> keys;
  for (Key key = 1; keys.size() < 2; ++key) {
    if (joining.HomeOf(key) == kLost) keys.push_back(key);
  }
  loss.a.Adopt(joining);
  loss.b.Adopt(joining);
  loss.a.Receive(kLost, Install{.map_version = joining.version,
                                .rows = {.table = kTable,
                                         .keys = std::vector<Key>{keys[0]},
                                         .versions = std::vector<RowVersion>{RowVersion(0, 9)},
                                         .move_numbers = std::vector<uint16_t>{0},
                                         .values = std::vector<float>{9}}});
  const ShardMap next = WithoutFailed(joining, std::array{kLost});
  ASSERT_EQ(next.HomeOf(keys[0]), kA);
  loss.a.Adopt(next);
  loss.b.Adopt(next);
  Carry(loss.a, loss.b);
  loss.a.Restore(Saved(keys, 5).get());
  EXPECT_EQ(loss.a.Value(keys[0]), 9) << "the copy is newer";
  EXPECT_EQ(loss.a.Value(keys[1]), 5);
  EXPECT_EQ(loss.a.rows.Report().rows_restored, 1U) << "and it is reported";
}

TEST(RowRestoreTest, ASecondLossMeanwhileAsksForAllAgain) {
  Loss loss;
  const std::vector<Key> lost = KeysOf(kLost, kA, 2);
  loss.Begin();
  const std::vector<RestoreOrder> first = std::exchange(loss.a.orders, {});
  ASSERT_THAT(first, SizeIs(1));
  loss.a.Adopt(WithoutFailed(loss.a.rows.map(), std::array{kB}));
  const auto saved = Saved(lost, 5);
  loss.a.rows.Restore(first[0], saved.get(), {}, {}, loss.a.out);  // too late
  EXPECT_FALSE(loss.a.Find(lost[0]));
  ASSERT_THAT(loss.a.orders, SizeIs(1));
  loss.a.Restore(saved.get());
  EXPECT_EQ(loss.a.Value(lost[0]), 5);
  EXPECT_EQ(loss.a.Find(lost[0])->version, RowVersion(2, 5));
}

}  // namespace
}  // namespace attune::ps::row_restore_test
