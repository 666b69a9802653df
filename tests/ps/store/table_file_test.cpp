#include "ps/store/table_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "base/file.h"
#include "base/random.h"

namespace attune::ps {
namespace {

using testing::HasSubstr;

const TableSpec kSpec{"embedding",
                      {.dim = 5,
                       .optimizer = Adagrad{.rate = 0.25F},
                       .initializer = UniformInitializer{-1, 1},
                       .seed = 11,
                       .rows_max = 100'000}};

std::unique_ptr<TableStore> StoreWithRows(const TableSpec& spec, uint64_t rows) {
  auto store = *TableStore::Create(spec);
  Random random(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    const Key key = SplitMix64(i);
    std::vector<float> gradient(spec.options.dim);
    for (float& g : gradient) g = random.UniformFloat() - 0.5F;
    EXPECT_TRUE(store->Push({&key, 1}, gradient).ok());
  }
  return store;
}

using Rows = std::map<Key, std::tuple<uint64_t, std::vector<float>, std::vector<float>>>;
Rows RowsOf(const TableStore& store) {
  Rows rows;
  store.ForEachRow([&](const RowView& row) {
    rows[row.key] = {row.version.value(), {row.values.begin(), row.values.end()}, {row.state.begin(), row.state.end()}};
  });
  return rows;
}

// Without the sync of a careful writer, of which thousands take time.
void Overwrite(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class TableFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "table_file_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ / "embedding-0.rows";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  size_t FilesInDirectory() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }
  std::filesystem::path directory_, path_;
};

TEST_F(TableFileTest, ReadsBackWhatWasWritten) {
  for (const uint64_t rows : {0, 1, 2, 50'000}) {  // several blocks in the last
    const auto store = StoreWithRows(kSpec, rows);
    ASSERT_TRUE(WriteTableFile(path_, "job-1", *store).ok());
    const auto loaded = ReadTableFile(path_, "job-1", kSpec);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(RowsOf(**loaded), RowsOf(*store)) << rows << " rows";
    EXPECT_EQ(FilesInDirectory(), 1U) << "no temporary file is left";
  }
}

TEST_F(TableFileTest, ARowLargerThanABlockTravels) {
  const TableSpec spec{"wide", {.dim = 65536, .optimizer = Adagrad{}}};
  std::vector<float> gradient(65536, 0.5F);
  auto store = *TableStore::Create(spec);
  for (Key key = 0; key < 3; ++key) ASSERT_TRUE(store->Push({&key, 1}, gradient).ok());
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *store).ok());
  const auto loaded = ReadTableFile(path_, "job-1", spec);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(RowsOf(**loaded), RowsOf(*store));
}

TEST_F(TableFileTest, TheHeaderTellsWhatTheFileIs) {
  for (const Initializer& initializer : {Initializer(ConstantInitializer{2}), Initializer(UniformInitializer{-1, 3}),
                                         Initializer(NormalInitializer{4, 5})}) {
    const TableSpec spec{"bias", {.dim = 3, .optimizer = Sgd{.rate = 0.5F}, .initializer = initializer, .seed = 7}};
    ASSERT_TRUE(WriteTableFile(path_, "job-1", *StoreWithRows(spec, 4)).ok());
    const auto header = ReadTableFileHeader(path_);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->job_id, "job-1");
    EXPECT_EQ(header->spec.name, "bias");
    EXPECT_EQ(header->spec.options.dim, 3U);
    EXPECT_EQ(header->spec.options.seed, 7U);
    EXPECT_EQ(std::get<Sgd>(header->spec.options.optimizer).rate, 0.5F);
    EXPECT_EQ(header->spec.options.initializer.index(), initializer.index());
    EXPECT_EQ(header->row_count, 4U);
    EXPECT_TRUE(ReadTableFile(path_, "job-1", spec).ok());
  }
}

TEST_F(TableFileTest, AFileOfAnotherTableOrJobIsRefused) {
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *StoreWithRows(kSpec, 3)).ok());
  const auto expect_refused = [&](std::string_view job, auto change, const char* want) {
    TableSpec spec = kSpec;
    change(spec);
    const Status status = ReadTableFile(path_, job, spec).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(want));
    EXPECT_THAT(std::string(Message(status)), HasSubstr(path_.string()));
  };
  expect_refused(
      "job-2", [](TableSpec&) {}, "job 'job-1'");
  expect_refused(
      "", [](TableSpec& s) { s.name = "context"; }, "holds table 'embedding'");
  expect_refused(
      "", [](TableSpec& s) { s.options.dim = 6; }, "has dim 5, wanted is 6");
  expect_refused(
      "", [](TableSpec& s) { s.options.optimizer = Sgd{}; }, "another optimizer");
  expect_refused(
      "",
      [](TableSpec& s) {
        s.options.initializer = UniformInitializer{-1, 2};
      },
      "another initializer");
  expect_refused(
      "", [](TableSpec& s) { s.options.initializer = NormalInitializer{}; }, "another initializer");
  expect_refused(
      "", [](TableSpec& s) { s.options.seed = 12; }, "has seed 11, wanted is 12");
  TableSpec other_rate = kSpec;
  other_rate.options.optimizer = Adagrad{.rate = 0.5F};
  EXPECT_TRUE(ReadTableFile(path_, "", other_rate).ok()) << "a rate may change between runs";
}

TEST_F(TableFileTest, TheRowLimitHoldsForLoadedRowsToo) {
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *StoreWithRows(kSpec, 10)).ok());
  TableSpec small = kSpec;
  small.options.rows_max = 9;
  EXPECT_EQ(ReadTableFile(path_, "job-1", small).status().code(), StatusCode::kResourceExhausted);
}

// Every single byte, and so every kind of byte: magic, version, lengths, header, checksums, counts, rows, end.
TEST_F(TableFileTest, AChangedByteAnywhereIsFound) {
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *StoreWithRows(kSpec, 3)).ok());
  const std::string whole = *ReadFile(path_);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      Overwrite(path_, damaged);
      const Status status = ReadTableFile(path_, "job-1", kSpec).status();
      const bool is_version = i >= 8 && i < 12;
      ASSERT_EQ(status.code(), is_version ? StatusCode::kFailedPrecondition : StatusCode::kDataLoss)
          << "byte " << i << ": " << status;
      ASSERT_THAT(std::string(Message(status)), HasSubstr(path_.string()));
    }
  }
}

TEST_F(TableFileTest, ATruncatedFileIsFoundAtEveryLength) {
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *StoreWithRows(kSpec, 3)).ok());
  const std::string whole = *ReadFile(path_);
  for (size_t length = 0; length < whole.size(); ++length) {
    Overwrite(path_, std::string_view(whole).substr(0, length));
    const Status status = ReadTableFile(path_, "job-1", kSpec).status();
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << "length " << length << ": " << status;
    ASSERT_THAT(std::string(Message(status)), HasSubstr("it ends within"));
  }
}

TEST_F(TableFileTest, BytesAfterTheEndAreFound) {
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *StoreWithRows(kSpec, 3)).ok());
  ASSERT_TRUE(WriteFileAtomically(path_, *ReadFile(path_) + "x").ok());
  EXPECT_EQ(ReadTableFile(path_, "job-1", kSpec).status().code(), StatusCode::kDataLoss);
}

TEST_F(TableFileTest, AMissingFileAndDirectoryAreNamed) {
  EXPECT_EQ(ReadTableFile(path_, "job-1", kSpec).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadTableFileHeader(path_).status().code(), StatusCode::kNotFound);
  const Status status = WriteTableFile(directory_ / "absent" / "t", "job-1", *StoreWithRows(kSpec, 1));
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("absent"));
}

// A limit on the size of files stands for a full disk: the same path through write, another number of error.
TEST_F(TableFileTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  const auto small = StoreWithRows(kSpec, 10);
  const auto large = StoreWithRows(kSpec, 5000);
  ASSERT_TRUE(WriteTableFile(path_, "job-1", *small).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = WriteTableFile(path_, "job-1", *large);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("make room"));
  EXPECT_EQ(FilesInDirectory(), 1U);
  EXPECT_EQ(RowsOf(**ReadTableFile(path_, "job-1", kSpec)), RowsOf(*small));
}

TEST_F(TableFileTest, AHeaderOfAbsurdLengthTakesNoMemory) {
  std::string text = "ATTUNTBL";
  text += std::string("\x01\0\0\0", 4) + "\xFF\xFF\xFF\xFF" + "rest";
  ASSERT_TRUE(WriteFileAtomically(path_, text).ok());
  const Status status = ReadTableFile(path_, "job-1", kSpec).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("claims 4294967295 bytes"));
}

}  // namespace
}  // namespace attune::ps
