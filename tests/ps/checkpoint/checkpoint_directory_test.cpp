// Checkpoints after checkpoints in a directory of a real disk: numbers, increments, retention, damage.
#include "ps/checkpoint/checkpoint_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <set>

#include "base/os/file.h"
#include "base/random.h"
#include "tests/ps/checkpoint/simulated_files.h"
#include "tests/ps/checkpoint/test_tables.h"
#include "tests/scratch.h"

namespace attune::ps::checkpoint_directory_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const TableSpec kSpec{"embedding", {.dim = 4, .optimizer = Adagrad{}}};

class CheckpointDirectoryTest : public testing::Test {
 protected:
  Status Write(CutRecord cut = {}) {
    return WriteCheckpoint(files_, writer_, directory_.path(), {&a_, &b_}, std::move(cut));
  }
  void Touch(Key begin, Key end) {
    for (Key key = begin; key < end; ++key) (key % 2 == 0 ? a_ : b_).Touch(key);
  }
  TestRows Rows() const {
    TestRows rows = a_.rows();
    rows.insert(b_.rows().begin(), b_.rows().end());
    return rows;
  }
  std::vector<uint64_t> Numbers() { return CheckpointDirectory(files_, directory_.path()).List()->manifests; }
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }
  std::filesystem::path FileOf(uint64_t checkpoint, int part) const {
    return directory_.path() / RowFileName(checkpoint, "embedding", std::to_string(part));
  }
  static void Damage(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-20, std::ios::end);
    file.put('\x55');
  }

  FileSystem& files_ = RealFileSystem();
  SystemTime time_;
  Scratch directory_;
  CheckpointWriter writer_{files_, time_, {.job_uid = "job-1", .protocol_version = 1}};
  TestSource a_{kSpec}, b_{kSpec};
};

TEST_F(CheckpointDirectoryTest, IncrementsHoldWhatChangedAndTheChainReadsAsOne) {
  Touch(0, 1000);
  ASSERT_TRUE(Write().ok());
  Touch(10, 20);
  a_.Erase(14);
  const CutRecord cut{.synchronization = "bsp",
                      .clock = 9,
                      .data_sets = {{.name = "train", .items = 50, .done = {{0, 0, 30}}, .open = {{0, 30, 40, 35}}}}};
  ASSERT_TRUE(Write(cut).ok());
  const auto opened = OpenCheckpoint(files_, directory_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->manifest.number, 2U);
  EXPECT_EQ(opened->manifest.base, 1U);
  EXPECT_EQ(opened->manifest.cut, cut);
  EXPECT_EQ(opened->manifest.rows(), 999U);
  EXPECT_LT(opened->manifest.own_bytes(), opened->manifest.bytes() / 5);
  EXPECT_THAT(opened->skipped, IsEmpty());
  EXPECT_EQ(RowsOf(files_, *opened, "embedding"), Rows());
  const auto records = ReadFilterRecords(files_, *opened);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->origins.size(), 2U) << "of both parts";
}

TEST_F(CheckpointDirectoryTest, AllRowsAreWrittenAgainWhenIncrementsHaveGrown) {
  Touch(0, 300);
  std::vector<uint64_t> bases;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(Write().ok());
    const auto opened = OpenCheckpoint(files_, directory_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    bases.push_back(opened->manifest.base);
    EXPECT_LT(opened->manifest.bytes(), 3 * a_.rows().size() * 2 * 60) << "what a restart reads stays bounded";
    EXPECT_EQ(RowsOf(files_, *opened, "embedding"), Rows()) << "checkpoint " << opened->manifest.number;
    EXPECT_LE(Numbers().size(), 2U);
    Touch(0, 120);
  }
  EXPECT_THAT(bases, ElementsAre(0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11));
}

TEST_F(CheckpointDirectoryTest, AChainIsNeverLongerThanItsLimit) {
  Manifest manifest{.number = 100, .base = 99};
  manifest.tables.push_back({.spec = kSpec});
  const auto add = [&](uint64_t checkpoint, uint64_t bytes) {
    manifest.tables[0].files.push_back({.name = "f", .checkpoint = checkpoint, .bytes = bytes});
  };
  add(85, 1'000'000);
  for (uint64_t i = 86; i < 100; ++i) add(i, 1);
  EXPECT_EQ(NextBase(manifest), 100U);
  add(100, 1);
  EXPECT_EQ(NextBase(manifest), 0U) << "sixteen";
}

TEST_F(CheckpointDirectoryTest, AnotherRunNeverBuildsOnRowsOfAnEarlierOne) {
  Touch(0, 10);
  for (int i = 0; i < 3; ++i) Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  CheckpointWriter restarted(files_, time_, {.job_uid = "job-1", .protocol_version = 1});
  TestSource fresh(kSpec);
  fresh.Touch(3);  // a lower version than the one on disk
  ASSERT_TRUE(WriteCheckpoint(files_, restarted, directory_.path(), {&fresh}).ok());
  const auto opened = OpenCheckpoint(files_, directory_.path());
  EXPECT_EQ(opened->manifest.number, 2U);
  EXPECT_EQ(RowsOf(files_, *opened, "embedding"), fresh.rows());
}

CutRecord CutOfBest(uint64_t number, double value) {
  CutRecord cut{.synchronization = "async"};
  cut.best = BestCheckpoint{.metric = "held_out", .value = value, .at = {}, .directory = "", .checkpoint = number};
  return cut;
}

TEST_F(CheckpointDirectoryTest, TheBestCheckpointStaysUntilABetterOneIsComplete) {
  Touch(0, 300);
  ASSERT_TRUE(Write().ok());
  EXPECT_EQ(OpenBestCheckpoint(files_, directory_.path()).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(Write(CutOfBest(2, 3.5)).ok());
  const TestRows of_best = Rows();
  for (uint64_t number = 3; number <= 8; ++number) {  // those after it know it as the best
    Touch(0, 120);
    ASSERT_TRUE(Write(CutOfBest(2, 3.5)).ok());
    EXPECT_THAT(Numbers(), testing::ElementsAreArray(number == 3 ? std::vector<uint64_t>{2, 3}
                                                                 : std::vector<uint64_t>{2, number - 1, number}));
    const auto best = OpenBestCheckpoint(files_, directory_.path());
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_EQ(best->manifest.number, 2U);
    EXPECT_EQ(RowsOf(files_, *best, "embedding"), of_best) << "beside " << number;
  }
  Touch(0, 120);
  ASSERT_TRUE(Write(CutOfBest(9, 3.25)).ok());
  EXPECT_THAT(Numbers(), ElementsAre(8, 9)) << "the former best is one of many";
  EXPECT_EQ(OpenBestCheckpoint(files_, directory_.path())->manifest.number, 9U);
}

// Whatever is written after it, and also when a coordinator did not know the best one.
TEST_F(CheckpointDirectoryTest, TheBestOneOfAllThatWereMarkedIsNeverRemoved) {
  Random random(7);
  Touch(0, 20);
  std::map<double, uint64_t> marked;  // by value; the number
  uint64_t known = 0;
  double bar = 1e9;
  for (uint64_t number = 1; number <= 120; ++number) {
    const auto value = static_cast<double>(random.Below(1'000'000));
    if (random.Chance(0.05) && !marked.empty()) bar = value + 1;  // the last one that was marked is not known
    const bool better = value < bar;
    if (better) {
      bar = value;
      known = number;
      marked[value] = number;
    }
    ASSERT_TRUE(Write(known == 0 ? CutRecord{.synchronization = "bsp"} : CutOfBest(known, bar)).ok());
    if (marked.empty()) continue;
    const auto best = OpenBestCheckpoint(files_, directory_.path());
    ASSERT_TRUE(best.ok()) << best.status();
    ASSERT_EQ(best->manifest.number, marked.begin()->second) << "after " << number;
    EXPECT_LE(Numbers().size(), 4U) << "two new ones, and two that are marked";
  }
  EXPECT_GT(marked.size(), 5U);
}

// The coordinator was lost when it had written one, and the next one does not know of it.
TEST_F(CheckpointDirectoryTest, ABetterCheckpointThatTheNextCoordinatorDoesNotKnowStaysTheBest) {
  Touch(0, 100);
  ASSERT_TRUE(Write(CutOfBest(1, 3.0)).ok());
  ASSERT_TRUE(Write(CutOfBest(2, 3.25)).ok());
  for (uint64_t number = 3; number <= 6; ++number) ASSERT_TRUE(Write(CutOfBest(2, 3.25)).ok());
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 5, 6));
  EXPECT_EQ(OpenBestCheckpoint(files_, directory_.path())->manifest.number, 1U);
}

TEST_F(CheckpointDirectoryTest, ABestCheckpointThatIsDamagedDoesNotReplaceTheFormer) {
  Touch(0, 100);
  ASSERT_TRUE(Write(CutOfBest(1, 3.5)).ok());
  Touch(0, 100);
  ASSERT_TRUE(Write(CutOfBest(2, 3.25)).ok());
  Damage(FileOf(2, 0));
  const auto best = OpenBestCheckpoint(files_, directory_.path());
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->manifest.number, 1U);
  EXPECT_EQ(best->skipped.size(), 1U);
}

TEST_F(CheckpointDirectoryTest, TwoJobsThatShareADirectoryRemoveNothingOfEachOther) {
  CheckpointWriter other(files_, time_, {.job_uid = "job-2", .protocol_version = 1});
  TestSource theirs(kSpec);
  std::map<std::string, std::set<uint64_t>> written;
  const auto newest = [&](const std::string& job) { return written[job].empty() ? 0 : *written[job].rbegin(); };
  const CheckpointDirectory checkpoints(files_, directory_.path());
  for (int i = 0; i < 8; ++i) {
    Touch(0, 100);
    ASSERT_TRUE(Write().ok());
    written["job-1"].insert(writer_.last()->number);
    // The other one is in the middle of a checkpoint while the first one removes what is old.
    const auto plan = other.Begin(directory_.path());
    ASSERT_TRUE(plan.ok());
    const std::filesystem::path part = directory_.path() / RowFileName(plan->number, "under-way", "0");
    std::ofstream(part) << "half";
    if (i % 2 == 1) {
      ASSERT_TRUE(Write().ok()) << "the first one's next";
      written["job-1"].insert(writer_.last()->number);
    }
    EXPECT_TRUE(std::filesystem::exists(part)) << i;
    theirs.Touch(static_cast<uint64_t>(i));
    ASSERT_TRUE(WriteCheckpoint(files_, other, directory_.path(), {&theirs}).ok());
    written["job-2"].insert(other.last()->number);
    for (const std::string job : {"job-1", "job-2"}) {
      const auto opened = OpenCheckpoint(files_, directory_.path(), newest(job));
      ASSERT_TRUE(opened.ok()) << job << ": " << opened.status();
      EXPECT_EQ(opened->manifest.job_uid, job);
    }
    EXPECT_LE(Numbers().size(), 4U) << "two of each";
  }
  EXPECT_EQ(RowsOf(files_, *OpenCheckpoint(files_, directory_.path(), newest("job-1")), "embedding"), Rows());
  EXPECT_EQ(RowsOf(files_, *OpenCheckpoint(files_, directory_.path(), newest("job-2")), "embedding"), theirs.rows());
}

TEST_F(CheckpointDirectoryTest, GarbageOfUnfinishedOnesGoesWithTheNextAndForeignFilesStay) {
  std::ofstream(directory_.path() / "00000041.embedding.0.rows") << "half";
  std::ofstream(directory_.path() / "00000041.manifest.json.tmp") << "half";
  std::ofstream(directory_.path() / "notes.rows") << "of another program";
  std::ofstream(directory_.path() / "vectors.txt") << "of another program";
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  EXPECT_THAT(Numbers(), ElementsAre(42)) << "a number is never used again";
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "00000041.embedding.0.rows"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "00000041.manifest.json.tmp"));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "notes.rows"));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "vectors.txt"));
}

TEST_F(CheckpointDirectoryTest, ADamagedNewestIsSkippedAndSaidSo) {
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  const TestRows rows_of_first = Rows();
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  Damage(FileOf(2, 1));
  const auto opened = OpenCheckpoint(files_, directory_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->manifest.number, 1U);
  ASSERT_EQ(opened->skipped.size(), 1U);
  EXPECT_THAT(opened->skipped[0], HasSubstr("checkpoint 2"));
  EXPECT_THAT(opened->skipped[0], HasSubstr("00000002.embedding.1.rows"));
  EXPECT_EQ(RowsOf(files_, *opened, "embedding"), rows_of_first);

  const Status status = OpenCheckpoint(files_, directory_.path(), 2).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("whole are: 1"));

  Damage(FileOf(1, 0));  // which both use
  const Status none = OpenCheckpoint(files_, directory_.path()).status();
  EXPECT_EQ(none.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(none)), HasSubstr("no other checkpoint"));
}

TEST_F(CheckpointDirectoryTest, ADamagedBlockIsFoundByAFullCheckAndByReadingWithAdvice) {
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  std::fstream file(FileOf(2, 0), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(120);
  file.put('\x55');
  file.close();
  const CheckpointDirectory checkpoints(files_, directory_.path());
  const auto opened = OpenCheckpoint(files_, directory_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->manifest.number, 2U) << "its structure is whole";
  EXPECT_EQ(checkpoints.Check(opened->manifest, CheckpointDirectory::Depth::kEveryByte).code(), StatusCode::kDataLoss);
  const auto table = SavedTable::Open(files_, *opened, "embedding");
  const Status status = table->Load(HashRanges::All(), **TableStore::Create(kSpec)).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("00000002.embedding.0.rows' of table 'embedding' is damaged"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("checkpoint 1 does not use this file"));
}

TEST_F(CheckpointDirectoryTest, DamagedOnesDoNotPushWholeOnesOut) {
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  for (int i = 0; i < 2; ++i) {
    CheckpointWriter other(files_, time_, {.job_uid = "job-1", .protocol_version = 1});  // full ones
    ASSERT_TRUE(WriteCheckpoint(files_, other, directory_.path(), {&a_, &b_}).ok());
    Damage(FileOf(static_cast<uint64_t>(i) + 2, 0));
  }
  CheckpointWriter other(files_, time_, {.job_uid = "job-1", .protocol_version = 1});
  ASSERT_TRUE(WriteCheckpoint(files_, other, directory_.path(), {&a_, &b_}).ok());
  Damage(FileOf(4, 0));
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 3, 4)) << "1 is the only whole one beside the newest";
  EXPECT_EQ(OpenCheckpoint(files_, directory_.path())->manifest.number, 1U);
}

TEST_F(CheckpointDirectoryTest, WrongPlacesAreNamed) {
  const auto open = [&](const std::filesystem::path& path, std::optional<uint64_t> number = {}) {
    return OpenCheckpoint(files_, path, number).status();
  };
  EXPECT_EQ(open("/absent/directory").code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(open("/absent/directory"))), HasSubstr("/absent/directory"));
  EXPECT_EQ(open(directory_.path()).code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(open(directory_.path()))), HasSubstr(".manifest.json"));
  Touch(0, 1);
  ASSERT_TRUE(Write().ok());
  EXPECT_THAT(std::string(Message(open(directory_.path(), 9))), HasSubstr("no checkpoint 9, it holds 1"));
  EXPECT_EQ(FindCheckpoints(files_, directory_.path()), directory_.path());
  std::filesystem::create_directory(directory_.path() / "m");
  std::filesystem::rename(directory_.path() / "00000001.manifest.json", directory_.path() / "m" / "kept");
}

TEST_F(CheckpointDirectoryTest, AJobsModelDirectoryIsUnderstood) {
  Touch(0, 1);
  const auto tables = directory_.path() / "tables";
  ASSERT_TRUE(WriteCheckpoint(files_, writer_, tables, {&a_, &b_}).ok());
  EXPECT_EQ(FindCheckpoints(files_, directory_.path()), tables);
}

// A limit on the size of files stands for a full disk: the same path through write, another number of error.
TEST_F(CheckpointDirectoryTest, AFullDiskLeavesTheEarlierOneAndNothingElse) {
  Touch(0, 10);
  ASSERT_TRUE(Write().ok());
  const TestRows saved = Rows();
  const size_t files_before = FileCount();
  Touch(0, 20'000);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = Write();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("make room"));
  EXPECT_EQ(FileCount(), files_before);
  EXPECT_EQ(RowsOf(files_, *OpenCheckpoint(files_, directory_.path()), "embedding"), saved);
}

TEST_F(CheckpointDirectoryTest, ADirectoryThatVanishesOrIsAFileFailsClearly) {
  Touch(0, 10);
  const auto plan = writer_.Begin(directory_.path() / "sub");
  ASSERT_TRUE(plan.ok());
  std::filesystem::remove_all(directory_.path() / "sub");
  EXPECT_EQ(writer_.Commit(*plan, {}).code(), StatusCode::kNotFound);
  std::ofstream(directory_.path() / "file") << "x";
  const Status status = writer_.Begin(directory_.path() / "file").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(Message(status)), HasSubstr("file'"));
}

TEST_F(CheckpointDirectoryTest, AReadOnlyFileSystemFailsClearly) {
  SimulatedFiles files;
  files.FailAt(1, Error(StatusCode::kPermissionDenied, "cannot create 'x': Read-only file system"));
  Touch(0, 10);
  CheckpointWriter writer(files, time_, {.job_uid = "job-1"});
  EXPECT_EQ(WriteCheckpoint(files, writer, "/d", {&a_}).code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(files.Names(), IsEmpty());
}

TEST_F(CheckpointDirectoryTest, NodesThatDoNotShareTheDirectoryAreToldApart) {
  Touch(0, 10);
  const auto plan = writer_.Begin(directory_.path());
  CheckpointParts parts{.tables = {{.spec = kSpec, .rows = 1, .files = {{.name = "00000001.embedding.7.rows"}}}}};
  const Status status = writer_.Commit(*plan, parts);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("must share"));
  EXPECT_EQ(FileCount(), 0U);
}

}  // namespace
}  // namespace attune::ps::checkpoint_directory_test
