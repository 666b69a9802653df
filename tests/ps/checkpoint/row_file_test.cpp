#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "ps/checkpoint/format/bytes.h"
#include "ps/checkpoint/format/row_file_reader.h"
#include "ps/checkpoint/format/row_file_writer.h"
#include "ps/checkpoint/row_merge.h"
#include "tests/ps/checkpoint/simulated_files.h"
#include "tests/ps/checkpoint/test_tables.h"

namespace attune::ps::row_file_test {
namespace {

using testing::HasSubstr;

const RowFileHeader kHeader{
    .checkpoint = 7, .job_uid = "job-1", .table = "embedding", .value_bytes = 12, .state_bytes = 4};

TestRows SomeRows(const RowFileHeader& header, uint64_t count, uint64_t seed) {
  Random random(seed);
  TestRows rows;
  while (rows.size() < count) {
    TestRow row{.version = random.Below(1000),
                .values = std::string(header.value_bytes, '\0'),
                .state = std::string(header.state_bytes, '\0')};
    for (char& c : row.values) c = static_cast<char>(random.Next());
    for (char& c : row.state) c = static_cast<char>(random.Next());
    rows[random.Next()] = row;
  }
  return rows;
}

RowFileSummary WriteFile(FileSystem& files, const RowFileHeader& header, const TestRows& rows,
                         uint64_t run_bytes = 32 << 20, const std::vector<Key>& erased = {}) {
  const auto writer = RowFileWriter::Create(files, "/d/f", header, {.run_bytes = run_bytes});
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const auto& [key, row] : rows) {
    EXPECT_TRUE(
        (*writer)->Add({.key = key, .row_version = row.version, .values = row.values, .state = row.state}).ok());
  }
  for (const Key key : erased) EXPECT_TRUE((*writer)->Add({.key = key, .row_version = 2000, .erased = true}).ok());
  const auto summary = (*writer)->Finish();
  EXPECT_TRUE(summary.ok()) << summary.status();
  return *summary;
}

TestRows ReadRows(const RowFileReader& file, const HashRanges& ranges = HashRanges::All()) {
  TestRows rows;
  RowMerge merge({&file}, ranges);
  StoredRow row;
  uint64_t before = 0;
  for (bool first = true;; first = false) {
    const StatusOr<bool> more = merge.Next(row);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) break;
    EXPECT_TRUE(first || HashOf(row.key) > before);
    before = HashOf(row.key);
    rows[row.key] = {.version = row.row_version, .values = std::string(row.values), .state = std::string(row.state)};
  }
  EXPECT_EQ(merge.bytes_read(), merge.bytes_total());
  return rows;
}

TEST(RowFileTest, ReadsBackWhatWasWrittenWhateverTheRuns) {
  for (const uint64_t count : {0, 1, 2, 20'000}) {
    for (const uint64_t run_bytes : {1, 5000, 32 << 20}) {
      if (count > 1000 && run_bytes == 1) continue;  // a run per row
      SimulatedFiles files;
      const TestRows rows = SomeRows(kHeader, count, count);
      const RowFileSummary summary = WriteFile(files, kHeader, rows, run_bytes);
      const auto file = RowFileReader::Open(files, "/d/f");
      ASSERT_TRUE(file.ok()) << file.status();
      EXPECT_EQ((*file)->header(), kHeader);
      EXPECT_EQ((*file)->directory().digest, summary.digest);
      EXPECT_EQ((*file)->size(), summary.bytes);
      EXPECT_EQ(summary.rows, count);
      EXPECT_EQ(ReadRows(**file), rows) << count << " rows, runs of " << run_bytes << " bytes";
      EXPECT_TRUE((*file)->Verify().ok());
    }
  }
}

TEST(RowFileTest, RowsLargerThanABlockAndWithoutStateTravel) {
  RowFileHeader wide = kHeader;
  wide.value_bytes = 65536 * 4;
  wide.state_bytes = 0;
  SimulatedFiles files;
  const TestRows rows = SomeRows(wide, 3, 1);
  WriteFile(files, wide, rows);
  EXPECT_EQ(ReadRows(**RowFileReader::Open(files, "/d/f")), rows);
}

TEST(RowFileTest, ARowThatCameTwiceKeepsItsHigherVersion) {
  for (const uint64_t run_bytes : {1, 1 << 20}) {
    SimulatedFiles files;
    const auto writer = *RowFileWriter::Create(files, "/d/f", kHeader, {.run_bytes = run_bytes});
    for (const uint64_t version : {3, 9, 5}) {
      const std::string values(12, static_cast<char>(version)), state(4, 's');
      ASSERT_TRUE(writer->Add({.key = 4, .row_version = version, .values = values, .state = state}).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
    const TestRows rows = ReadRows(**RowFileReader::Open(files, "/d/f"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows.at(4).version, 9U);
    EXPECT_EQ(rows.at(4).values, std::string(12, '\x09'));
  }
}

TEST(RowFileTest, PartsOfTheRowsAreReadWithoutTheOthers) {
  SimulatedFiles files;
  const TestRows rows = SomeRows(kHeader, 50'000, 3);  // several blocks
  WriteFile(files, kHeader, rows);
  const auto file = *RowFileReader::Open(files, "/d/f");
  ASSERT_GT(file->directory().blocks.size(), 5U);
  TestRows all;
  uint64_t bytes = 0;
  for (uint32_t shard = 0; shard < 10; ++shard) {
    const HashRanges ranges({HashRange::OfShard(shard, 10)});
    RowMerge merge({file.get()}, ranges);
    bytes += merge.bytes_total();
    for (const auto& [key, row] : ReadRows(*file, ranges)) {
      EXPECT_TRUE(all.emplace(key, row).second) << "key " << key << " lies in two shards";
    }
  }
  EXPECT_EQ(all, rows);
  EXPECT_LT(bytes, 3 * file->size()) << "ten readers did not read all of it each";
}

class DamagedRowFileTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteFile(files_, kHeader, SomeRows(kHeader, 5, 2), 32 << 20, {77, 78});
    whole_ = files_.Content("/d/f");
  }
  Status Read() {
    const auto file = RowFileReader::Open(files_, "/d/f");
    return file.ok() ? (*file)->Verify() : file.status();
  }
  SimulatedFiles files_;
  std::string whole_;
};

// Every single byte, and so every kind of byte.
TEST_F(DamagedRowFileTest, AChangedByteAnywhereIsFound) {
  for (size_t i = 0; i < whole_.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      files_.Content("/d/f") = whole_;
      files_.Content("/d/f")[i] = static_cast<char>(whole_[i] ^ flip);
      const Status status = Read();
      const bool is_version = i >= 8 && i < 12;
      ASSERT_EQ(status.code(), is_version ? StatusCode::kFailedPrecondition : StatusCode::kDataLoss)
          << "byte " << i << ": " << status;
      ASSERT_THAT(std::string(Message(status)), HasSubstr("'/d/f'"));
    }
  }
}

TEST_F(DamagedRowFileTest, AnyOtherLengthIsFound) {
  for (size_t length = 0; length < whole_.size(); ++length) {
    files_.Content("/d/f") = whole_.substr(0, length);
    const Status status = Read();
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << "length " << length << ": " << status;
    ASSERT_THAT(std::string(Message(status)), HasSubstr("cut off")) << length;
  }
  files_.Content("/d/f") = whole_ + "x";
  EXPECT_EQ(Read().code(), StatusCode::kDataLoss);
}

TEST_F(DamagedRowFileTest, TheDamageIsNamedWithTableAndPlace) {
  const size_t place = whole_.size() - kRowFileTrailerBytes - 2 * kBlockEntryBytes - 40;  // in the rows or keys
  files_.Content("/d/f")[place] = static_cast<char>(whole_[place] ^ 1);
  const std::string text(Message(Read()));
  EXPECT_THAT(text, HasSubstr("'/d/f' of table 'embedding' is damaged"));
  EXPECT_THAT(text, HasSubstr("at byte"));
}

TEST_F(DamagedRowFileTest, AbsurdSizesTakeNoMemory) {
  std::string& content = files_.Content("/d/f");
  content = whole_;
  content.replace(12, 4, "\xFF\xFF\xFF\xFF");  // bytes of the header
  EXPECT_THAT(std::string(Message(Read())), HasSubstr("claims 4294967295 bytes"));
  content = whole_;
  content.replace(content.size() - kRowFileTrailerBytes + 8, 8, std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00", 8));
  EXPECT_THAT(std::string(Message(Read())), HasSubstr("directory of 72057594037927935 blocks"));
}

}  // namespace
}  // namespace attune::ps::row_file_test
