// The merge of many files against a map that is informed of every row.
#include "ps/checkpoint/row_merge.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "ps/checkpoint/format/row_file_writer.h"
#include "tests/ps/checkpoint/simulated_files.h"
#include "tests/ps/checkpoint/test_tables.h"

namespace attune::ps::row_merge_test {
namespace {

struct Newest {
  uint64_t version = 0, checkpoint = 0;
  std::string values;  // empty: erased
};

class RowMergeTest : public testing::Test {
 protected:
  void WriteFile(Random& random, uint64_t checkpoint, int file) {
    const std::string path = "/d/" + std::to_string(checkpoint) + "-" + std::to_string(file);
    const RowFileHeader header{.checkpoint = checkpoint, .job_uid = "j", .table = "t", .value_bytes = 8};
    const auto writer = *RowFileWriter::Create(files_, path, header, {.run_bytes = 1 + random.Below(4000)});
    const uint64_t rows = random.Below(300);
    for (uint64_t i = 0; i < rows; ++i) {
      const Key key = random.Below(400);
      Newest& newest = twin_[key];
      // Never lower in a later checkpoint; in the same one a row that moved may stand with several versions, and one
      // version always means the same row.
      const uint64_t version = newest.version + (newest.checkpoint == checkpoint ? random.Below(2) : 1);
      const bool erased = SplitMix64(key * 7 + version) % 10 == 0;
      std::string values(8, '\0');
      const uint64_t content = SplitMix64(key ^ (version << 32));
      std::memcpy(values.data(), &content, 8);
      if (version > newest.version) newest = {version, checkpoint, erased ? "" : values};
      ASSERT_TRUE(
          writer->Add({.key = key, .row_version = version, .erased = erased, .values = erased ? "" : values}).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
    readers_.push_back(*RowFileReader::Open(files_, path));
  }

  TestRows Wanted(const HashRanges& ranges) const {
    TestRows rows;
    for (const auto& [key, newest] : twin_) {
      if (!newest.values.empty() && ranges.Contains(HashOf(key))) rows[key] = {newest.version, newest.values, ""};
    }
    return rows;
  }

  TestRows Merged(const HashRanges& ranges, RowMerge::Columns columns) const {
    std::vector<const RowFileReader*> files;
    for (const auto& reader : readers_) files.push_back(reader.get());
    RowMerge merge(files, ranges, columns);
    TestRows rows;
    StoredRow row;
    while (*merge.Next(row)) {
      EXPECT_TRUE(rows.emplace(row.key, TestRow{row.row_version, std::string(row.values), ""}).second);
    }
    return rows;
  }

  SimulatedFiles files_;
  std::vector<std::unique_ptr<RowFileReader>> readers_;
  std::map<Key, Newest> twin_;
};

TEST_F(RowMergeTest, GivesEveryKeyOnceInItsHighestVersion) {
  const uint64_t seed = TestSeed("up to 4 checkpoints of up to 4 files, 400 keys");
  for (uint64_t round = 0; round < 50; ++round) {
    Random random(seed + round);
    readers_.clear();
    twin_.clear();
    files_ = SimulatedFiles();
    const uint64_t checkpoints = 1 + random.Below(4);
    for (uint64_t checkpoint = 1; checkpoint <= checkpoints; ++checkpoint) {
      const uint64_t count = 1 + random.Below(4);
      for (uint64_t file = 0; file < count; ++file) WriteFile(random, checkpoint, static_cast<int>(file));
    }
    ASSERT_EQ(Merged(HashRanges::All(), RowMerge::Columns::kRows), Wanted(HashRanges::All())) << "round " << round;
    const auto shards = static_cast<uint32_t>(1 + random.Below(20));
    std::vector<HashRange> some;
    for (uint32_t shard = 0; shard < shards; ++shard) {
      if (random.Chance(0.4)) some.push_back(HashRange::OfShard(shard, shards));
    }
    ASSERT_EQ(Merged(HashRanges(some), RowMerge::Columns::kRows), Wanted(HashRanges(some))) << "round " << round;
    TestRows keys = Wanted(HashRanges::All());
    for (auto& [key, row] : keys) row.values.clear();
    ASSERT_EQ(Merged(HashRanges::All(), RowMerge::Columns::kKeys), keys) << "round " << round;
  }
}

TEST(HashRangesTest, ShardsAreRangesForAnyNumberOfThem) {
  Random random(TestSeed("shards"));
  for (const uint32_t shards : {1U, 2U, 3U, 7U, 1000U, 1024U, 65536U}) {
    for (int i = 0; i < 200; ++i) {
      const Key key = random.Next();
      const auto shard = static_cast<uint32_t>(((SplitMix64(key) >> 32) * shards) >> 32);
      ASSERT_TRUE(HashRanges({HashRange::OfShard(shard, shards)}).Contains(HashOf(key))) << shards;
      const auto other = static_cast<uint32_t>(random.Below(shards));
      ASSERT_EQ(HashRanges({HashRange::OfShard(other, shards)}).Contains(HashOf(key)), other == shard) << shards;
    }
  }
  EXPECT_EQ(HashRanges({{10, 20}, {0, 9}, {40, 50}, {15, 30}}).size(), 2U) << "what touches is one";
  EXPECT_FALSE(HashRanges({}).Contains(0));
}

}  // namespace
}  // namespace attune::ps::row_merge_test
