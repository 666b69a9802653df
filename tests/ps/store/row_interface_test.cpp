// What relocation, recovery and backups ask of a store: the real one against the twin that the simulations use.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/store/table_store.h"
#include "tests/ps/core/rows/map_store.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::row_interface_test {
namespace {

TableSpec SpecOf(uint32_t dim, uint64_t rows_max = 0) {
  return {"embedding",
          {.dim = dim, .optimizer = Sgd{.rate = 1}, .initializer = ConstantInitializer{0.5F}, .rows_max = rows_max}};
}

struct OwnedRow {
  RowVersion version;
  uint16_t move_number = 0;
  std::vector<float> values;
  bool operator==(const OwnedRow&) const = default;
};

std::map<Key, OwnedRow> RowsOf(const TableStore& store) {
  std::map<Key, OwnedRow> rows;
  store.ForEachRow([&](const RowView& row) {
    EXPECT_TRUE(
        rows.try_emplace(row.key, OwnedRow{row.version, row.move_number, {row.values.begin(), row.values.end()}})
            .second);
  });
  return rows;
}

// One random operation on any store; what it answers is appended to a log that two stores must agree on.
class RandomOperations {
 public:
  RandomOperations(uint64_t seed, uint32_t dim) : random_(seed), dim_(dim) {}

  std::vector<uint64_t> Next(std::vector<TableStore*> stores) {
    const std::vector<Key> keys = Keys();
    const uint64_t kind = random_.Below(8);
    const uint64_t parameter = random_.Next();
    std::vector<std::vector<uint64_t>> logs;
    for (TableStore* store : stores) logs.push_back(Apply(*store, kind, keys, parameter));
    for (const auto& log : logs) EXPECT_EQ(log, logs[0]) << "operation " << kind;
    return logs[0];
  }

 private:
  std::vector<Key> Keys() {
    std::set<Key> keys;
    for (uint64_t n = random_.Below(60); n > 0; --n) keys.insert(SplitMix64(random_.Below(400)));
    return {keys.begin(), keys.end()};
  }

  std::vector<uint64_t> Apply(TableStore& store, uint64_t kind, const std::vector<Key>& keys,
                              uint64_t parameter) const {
    std::vector<uint64_t> log;
    std::vector<RowVersion> versions(keys.size());
    const std::vector<float> floats(keys.size() * dim_, static_cast<float>(parameter % 7));
    switch (kind) {
      case 0: {
        const auto pushed = store.Push(keys, floats, {.versions = versions});
        log.push_back(pushed.ok() ? pushed->rows_skipped : ~uint64_t{0});
        if (pushed.ok()) AppendVersions(versions, log);
        break;
      }
      case 1: {
        std::vector<float> rows(floats.size());
        store.Pull(keys, rows);
        for (const float value : rows) log.push_back(std::bit_cast<uint32_t>(value));
        break;
      }
      case 2: {
        std::vector<RowView> rows;
        for (size_t i = 0; i < keys.size(); ++i) {
          rows.push_back({.key = keys[i],
                          .version = RowVersion(parameter % 100 + i),
                          .move_number = static_cast<uint16_t>(parameter % 50),
                          .values = std::span(floats).subspan(i * dim_, dim_)});
        }
        log.push_back(store.Insert(rows).ok() ? 1 : 0);
        break;
      }
      case 3:
        log.push_back(store.Erase(keys));
        break;
      case 4:
        log.push_back(store.RaiseEra(keys, static_cast<uint16_t>(parameter % 9)));
        break;
      case 5:
        log.push_back(store.CreateRows(keys, RowVersion(static_cast<uint16_t>(parameter % 5), 3)).ok() ? 1 : 0);
        break;
      case 6: {
        log.resize((keys.size() + 63) / 64, ~uint64_t{0});
        log.push_back(store.Contains(keys, log));
        break;
      }
      default:
        log.push_back(store.VisitRows(keys, [&](const RowView& row) {
          log.insert(log.end(),
                     {row.key, row.version.value(), row.move_number, std::bit_cast<uint32_t>(row.values[0])});
        }));
    }
    log.push_back(store.row_count());
    return log;
  }

  static void AppendVersions(const std::vector<RowVersion>& versions, std::vector<uint64_t>& log) {
    for (const RowVersion version : versions) log.push_back(version.value());
  }

  Random random_;
  uint32_t dim_;
};

TEST(RowInterface, TheStoreAndItsTwinAnswerAlike) {
  const uint64_t seed = TestSeed("40 pairs, 300 operations each");
  for (uint64_t run = 0; run < 40; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    const uint32_t dim = 1 + static_cast<uint32_t>(run % 20);
    const TableSpec spec = SpecOf(dim, run % 4 == 0 ? 150 : 0);
    const auto store = *TableStore::Create(spec);
    MapStore twin(spec);
    RandomOperations operations(seed + run, dim);
    for (int i = 0; i < 300 && !HasFailure(); ++i) operations.Next({store.get(), &twin});
    ASSERT_EQ(RowsOf(*store), RowsOf(twin));
    if (HasFailure()) return;
  }
}

TEST(RowInterface, VersionsCompareEraFirst) {
  EXPECT_LT(RowVersion(0, 1000), RowVersion(1, 0));
  EXPECT_LT(RowVersion(3, 7), RowVersion(3, 8));
  const RowVersion version(65535, (uint64_t{1} << 48) - 1);
  EXPECT_EQ(version.era(), 65535);
  EXPECT_EQ(version.counter(), (uint64_t{1} << 48) - 1);
  EXPECT_EQ(RowVersion(2, 5).Next(), RowVersion(2, 6));
}

TEST(RowInterface, EraOnlyRises) {
  const auto store = *TableStore::Create(SpecOf(1));
  ASSERT_TRUE(store->CreateRows(std::vector<Key>{1}, RowVersion(4, 20)).ok());
  EXPECT_EQ(store->RaiseEra(std::vector<Key>{1, 2}, 3), 1U);
  EXPECT_EQ(RowsOf(*store).at(1).version, RowVersion(4, 20));
  store->RaiseEra(std::vector<Key>{1}, 7);
  EXPECT_EQ(RowsOf(*store).at(1).version, RowVersion(7, 20));
}

TEST(RowInterface, ErasedRoomIsUsedAgain) {
  const auto store = *TableStore::Create(SpecOf(16));
  std::vector<Key> keys(4096);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_TRUE(store->CreateRows(keys, RowVersion()).ok());
  const uint64_t bytes = store->memory_bytes();
  for (int round = 1; round < 50; ++round) {
    EXPECT_EQ(store->Erase(keys), keys.size());
    for (Key& key : keys) key += keys.size();
    ASSERT_TRUE(store->CreateRows(keys, RowVersion()).ok());
  }
  EXPECT_LE(store->memory_bytes(), bytes + bytes / 8);
}

TEST(RowInterface, AShardIsTheRangeOfHashesThatShardIndexGivesIt) {
  for (const uint32_t shards : {1U, 3U, 1000U, 1024U, 65536U}) {
    uint64_t next = 0;
    for (uint32_t shard = 0; shard < shards; ++shard) {
      const HashRange range = HashRange::OfShard(shard, shards);
      ASSERT_EQ(range.first, next) << shard << " of " << shards;
      next = uint64_t{range.last} + 1;
    }
    EXPECT_EQ(next, uint64_t{1} << 32);
  }
  const auto store = *TableStore::Create(SpecOf(1));
  std::vector<Key> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_TRUE(store->CreateRows(keys, RowVersion()).ok());
  uint64_t visited = 0;
  for (uint32_t shard = 0; shard < 7; ++shard) {
    store->ForEachKey(HashRange::OfShard(shard, 7), [&](Key key) {
      EXPECT_EQ(ShardMap::ShardIndex(key, 7), shard);
      ++visited;
    });
  }
  EXPECT_EQ(visited, keys.size());
}

}  // namespace
}  // namespace attune::ps::row_interface_test
