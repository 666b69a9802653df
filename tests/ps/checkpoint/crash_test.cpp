// The machine goes away at every step of writing a checkpoint; what is found afterwards is the checkpoint before or the
// new one, whole, and writing continues from there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ps/checkpoint/simulated_files.h"
#include "tests/ps/checkpoint/test_tables.h"

namespace attune::ps::crash_test {
namespace {

const TableSpec kSpec{"embedding", {.dim = 4, .optimizer = Adagrad{}}};
constexpr char kDirectory[] = "/d";

// Two servers and four checkpoints: full, two increments, full again; the last is the one that crashes.
class Job {
 public:
  explicit Job(SimulatedFiles& files, int checkpoints_before) : files_(files) {
    for (Key key = 0; key < 40; ++key) source(key).Touch(key);
    for (int i = 0; i < checkpoints_before; ++i) {
      EXPECT_TRUE(Write().ok());
      saved_.push_back(Rows());
      for (Key key = 0; key < 16; ++key) source(key).Touch(key);
      a_.Erase(static_cast<Key>(20 + 2 * i));
    }
  }
  Status Write() { return WriteCheckpoint(files_, writer_, kDirectory, {&a_, &b_}); }
  TestRows Rows() const {
    TestRows rows = a_.rows();
    rows.insert(b_.rows().begin(), b_.rows().end());
    return rows;
  }
  const std::vector<TestRows>& saved() const { return saved_; }

 private:
  TestSource& source(Key key) { return key % 2 == 0 ? a_ : b_; }

  SimulatedFiles& files_;
  SystemTime time_;
  CheckpointWriter writer_{files_, time_, {.job_uid = "job-1", .protocol_version = 1}};
  TestSource a_{kSpec}, b_{kSpec};
  std::vector<TestRows> saved_;
};

TEST(CrashTest, AtEveryStepThePreviousCheckpointOrTheNewOneIsWhole) {
  uint64_t crashes = 0, found_new = 0;
  for (const int before : {0, 1, 2, 3}) {
    SimulatedFiles dry;
    Job whole(dry, before);
    dry.CrashAt(0);
    ASSERT_TRUE(whole.Write().ok());
    const uint64_t steps = dry.steps();
    ASSERT_GT(steps, 15U);
    for (uint64_t step = 1; step <= steps; ++step) {
      for (uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE("after " + std::to_string(before) + " checkpoints, crash at step " + std::to_string(step) +
                     " of " + std::to_string(steps) + ", seed " + std::to_string(seed));
        SimulatedFiles files;
        Job job(files, before);
        files.CrashAt(step);
        const bool reported_ok = job.Write().ok();
        ASSERT_TRUE(files.crashed());
        files.Restart(seed * 1000 + step);
        ++crashes;

        const auto opened = OpenCheckpoint(files, kDirectory);
        if (before == 0 && !opened.ok()) {
          ASSERT_FALSE(reported_ok);
          ASSERT_EQ(opened.status().code(), StatusCode::kNotFound);
        } else {
          ASSERT_TRUE(opened.ok()) << opened.status();
          ASSERT_THAT(opened->skipped, testing::IsEmpty()) << "a manifest stands for a whole checkpoint, always";
          const bool is_new = opened->manifest.number == static_cast<uint64_t>(before) + 1;
          ASSERT_TRUE(is_new || !reported_ok) << "it was reported as durable";
          ASSERT_EQ(RowsOf(files, *opened, "embedding"), is_new ? job.Rows() : job.saved().back());
          found_new += is_new ? 1 : 0;
        }
        const auto found = CheckpointDirectory(files, kDirectory).List();
        for (const uint64_t number : found->manifests) {
          const Status check = OpenCheckpoint(files, kDirectory, number).status();
          ASSERT_TRUE(check.ok()) << check;
        }
        // The job starts again and saves; garbage of the crash goes.
        SystemTime time;
        CheckpointWriter writer(files, time, {.job_uid = "job-1", .protocol_version = 1});
        TestSource again(kSpec);
        again.Touch(1);
        const Status status = WriteCheckpoint(files, writer, kDirectory, {&again});
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_TRUE(writer.leftover().ok()) << writer.leftover();
        ASSERT_EQ(RowsOf(files, *OpenCheckpoint(files, kDirectory), "embedding"), again.rows());
        std::set<std::string> wanted;
        const CheckpointDirectory directory(files, kDirectory);
        const auto listing = directory.List();
        for (const uint64_t number : listing->manifests) {
          wanted.insert(ManifestFileName(number));
          for (const CheckpointFile& file : directory.ReadManifest(number)->AllFiles()) wanted.insert(file.name);
        }
        ASSERT_THAT(files.Names(), testing::ElementsAreArray(wanted));
      }
    }
  }
  EXPECT_GT(crashes, 500U);
  EXPECT_GT(found_new, 50U) << "some crashes come after the manifest";
}

TEST(CrashTest, AnErrorAtAnyStepLeavesTheEarlierOnesAndTheNextSucceeds) {
  SimulatedFiles dry;
  Job whole(dry, 2);
  dry.CrashAt(0);
  ASSERT_TRUE(whole.Write().ok());
  const uint64_t steps = dry.steps();
  uint64_t failures = 0;
  for (uint64_t step = 1; step <= steps; ++step) {
    SCOPED_TRACE("no space at step " + std::to_string(step) + " of " + std::to_string(steps));
    SimulatedFiles files;
    Job job(files, 2);
    files.FailAt(step, Error(StatusCode::kResourceExhausted, "no space left on device"));
    const Status status = job.Write();
    failures += status.ok() ? 0 : 1;  // after the manifest is durable only removing old files can fail
    const auto opened = OpenCheckpoint(files, kDirectory);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const bool is_new = opened->manifest.number == 3;
    ASSERT_EQ(RowsOf(files, *opened, "embedding"), is_new ? job.Rows() : job.saved().back());
    ASSERT_TRUE(is_new || !status.ok());
    ASSERT_TRUE(job.Write().ok());
    ASSERT_EQ(RowsOf(files, *OpenCheckpoint(files, kDirectory), "embedding"), job.Rows());
  }
  EXPECT_GT(failures, 10U);
}

}  // namespace
}  // namespace attune::ps::crash_test
