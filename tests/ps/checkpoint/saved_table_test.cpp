// Tables written by one number of servers and loaded by another, on a real disk.
#include "ps/checkpoint/saved_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "tests/ps/checkpoint/test_tables.h"
#include "tests/scratch.h"

namespace attune::ps::saved_table_test {
namespace {

using testing::HasSubstr;

constexpr uint32_t kShards = 64;
const TableSpec kSpec{"in/out",
                      {.dim = 5, .optimizer = Adagrad{.rate = 0.25F}, .initializer = UniformInitializer{-1, 1}}};

// Shards dealt out in turn, as a job does.
HashRanges RangesOf(uint32_t server, uint32_t servers) {
  std::vector<HashRange> ranges;
  for (uint32_t shard = server; shard < kShards; shard += servers) ranges.push_back(HashRange::OfShard(shard, kShards));
  return HashRanges(ranges);
}

std::vector<std::unique_ptr<TableStore>> TrainedStores(uint32_t servers, uint64_t rows, const TableSpec& spec = kSpec) {
  std::vector<std::unique_ptr<TableStore>> stores;
  for (uint32_t i = 0; i < servers; ++i) stores.push_back(*TableStore::Create(spec));
  Random random(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    const Key key = i * 7;
    uint32_t home = 0;
    while (!RangesOf(home, servers).Contains(HashOf(key))) ++home;
    std::vector<float> gradient(kSpec.options.dim);
    for (float& g : gradient) g = random.UniformFloat() - 0.5F;
    for (uint64_t push = 0; push <= i % 3; ++push) EXPECT_TRUE(stores[home]->Push({&key, 1}, gradient).ok());
  }
  return stores;
}

Status Save(const std::filesystem::path& directory, const std::vector<std::unique_ptr<TableStore>>& stores) {
  const SystemTime time;
  CheckpointWriter writer(RealFileSystem(), time, {.job_uid = "job-1", .protocol_version = 1});
  ASSIGN_OR_RETURN(const CheckpointPlan plan, writer.Begin(directory));
  CheckpointParts parts{.tables = {{.spec = stores[0]->spec()}}};
  for (size_t i = 0; i < stores.size(); ++i) {
    StoreRowSource source(*stores[i]);
    Throttle throttle(0, time);
    ASSIGN_OR_RETURN(
        const WrittenPart part,
        WritePart(RealFileSystem(),
                  {.directory = directory, .checkpoint = plan.number, .job_uid = "job-1", .part = std::to_string(i)},
                  {nullptr, &source}, {}, throttle));
    for (const WrittenTable& table : part.tables) {
      EXPECT_EQ(table.table, 1U);
      parts.tables[0].files.push_back(table.file);
      parts.tables[0].rows += table.rows;
    }
  }
  return writer.Commit(plan, parts);
}

TEST(SavedTableTest, LoadsIntoAnyNumberOfServers) {
  constexpr uint64_t kRows = 5000;
  for (const uint32_t writers : {1U, 3U}) {
    Scratch directory;
    const auto stores = TrainedStores(writers, kRows);
    ASSERT_TRUE(Save(directory.path() / "new" / "model", stores).ok());
    TestRows want;
    for (const auto& store : stores) want.merge(RowsOf(*store));
    const auto opened = OpenCheckpoint(RealFileSystem(), directory.path() / "new" / "model");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->manifest.rows(), kRows);
    for (const uint32_t readers : {1U, 2U, 5U}) {
      TestRows found;
      for (uint32_t server = 0; server < readers; ++server) {
        const auto table = SavedTable::Open(RealFileSystem(), *opened, "in/out");
        ASSERT_TRUE(table.ok()) << table.status();
        const auto store = *TableStore::Create(kSpec);
        const auto loaded = table->Load(RangesOf(server, readers), *store);
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        EXPECT_EQ(*loaded, store->row_count());
        found.merge(RowsOf(*store));
      }
      EXPECT_EQ(found, want) << "values, optimizer state and versions; " << writers << " wrote, " << readers << " read";
    }
  }
}

TEST(SavedTableTest, NarrowValuesAreKeptAsTheyAreInHalfTheRoom) {
  for (const ValueType type : {ValueType::kFloat16, ValueType::kBfloat16}) {
    TableSpec spec = kSpec;
    spec.options.value_type = type;
    Scratch directory;
    const auto stores = TrainedStores(1, 3000, spec);
    ASSERT_TRUE(Save(directory.path(), stores).ok());
    const auto opened = OpenCheckpoint(RealFileSystem(), directory.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_LT(opened->manifest.bytes(), 3000 * (16 + 5 * (2 + 4)) + 4096) << "keys, versions, values, state";
    const auto table = SavedTable::Open(RealFileSystem(), *opened, "in/out");
    ASSERT_TRUE(table.ok()) << table.status();
    const auto store = *TableStore::Create(spec);
    ASSERT_TRUE(table->Load(HashRanges::All(), *store).ok());
    EXPECT_EQ(RowsOf(*store), RowsOf(*stores[0]));
    const Status other = SavedTable::Open(RealFileSystem(), *opened, "in/out")
                             ->Load(HashRanges::All(), **TableStore::Create(kSpec))
                             .status();
    EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(Message(other)), HasSubstr("dtype"));
  }
}

TEST(SavedTableTest, AnotherTableIsRefusedAndTheOnesThereAreNamed) {
  Scratch directory;
  ASSERT_TRUE(Save(directory.path(), TrainedStores(1, 10)).ok());
  const auto opened = OpenCheckpoint(RealFileSystem(), directory.path());
  const Status missing = SavedTable::Open(RealFileSystem(), *opened, "bias").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(missing)), HasSubstr("it has 'in/out'"));
  TableSpec wide = kSpec;
  wide.options.dim = 6;
  const Status different = SavedTable::Open(RealFileSystem(), *opened, "in/out")
                               ->Load(HashRanges::All(), **TableStore::Create(wide))
                               .status();
  EXPECT_EQ(different.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(different)), HasSubstr("dim 5, the program wants 6"));
}

TEST(SavedTableTest, TheRowLimitHoldsForLoadedRowsToo) {
  Scratch directory;
  ASSERT_TRUE(Save(directory.path(), TrainedStores(1, 10)).ok());
  const auto opened = OpenCheckpoint(RealFileSystem(), directory.path());
  TableSpec small = kSpec;
  small.options.rows_max = 9;
  const auto table = SavedTable::Open(RealFileSystem(), *opened, "in/out");
  EXPECT_EQ(table->Load(HashRanges::All(), **TableStore::Create(small)).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace attune::ps::saved_table_test
