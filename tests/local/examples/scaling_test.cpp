// The loops that people write, as README and docs/examples show them, while workers come and go all the time: each item
// is counted once.
#include <gmock/gmock.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "tests/local/cli/job_run.h"

namespace attune::scaling_test {
namespace {

class ScalingRun : public JobRun {
 protected:
  static constexpr int kScalingsMin = 8;

  void Start(const std::string& program, const std::string& arguments, uint64_t epochs) {
    std::ostringstream manifest;
    manifest << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: scaled}\nspec:\n"
             << "  goal: {epochs: " << epochs << "}\n  servers: {replicas: 1}\n  workers:\n"
             << "    replicas: 2\n    max: 4\n    template:\n      spec:\n        containers:\n"
             << "        - {name: worker, image: none, command: [" << program << "], args: [" << arguments << "]}\n";
    StartRun("scaled", manifest.str());
  }
  // Until most of the items are done, so that the job does not end under the last one.
  void ScaleUpAndDown() {
    ASSERT_TRUE(AwaitReady("workers", 2));
    int scalings = 0;
    for (const size_t workers : {4, 1, 3, 1, 4, 2, 4, 1, 3, 1, 2, 4, 1, 3}) {
      if (GetStatus().value(Json::json_pointer("/progress/fraction"), 0.0) > 0.7) break;
      ASSERT_EQ(Attune({"scale", "scaled", "workers=" + std::to_string(workers)}).code, 0);
      ASSERT_TRUE(AwaitReady("workers", workers));
      ++scalings;
    }
    EXPECT_GE(scalings, kScalingsMin) << "the job was over too soon to show anything";
  }
};

TEST_F(ScalingRun, TheCountingExampleCountsEveryNumberOnce) {
  constexpr uint64_t kNumbers = 20'000'000, kEpochs = 5;  // the whole list of scalings, on a fast machine too
  Start(ATTUNE_COUNTING, "\"" + std::to_string(kNumbers) + "\"", kEpochs);
  ScaleUpAndDown();
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counted"), static_cast<double>(kNumbers * kEpochs));
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
}

// Items of the next lease are prepared, and their rows announced, before the worker has it; it may drain before that.
TEST_F(ScalingRun, TheLookAheadExampleCountsEveryNumberOnce) {
  constexpr uint64_t kNumbers = 60'000'000, kEpochs = 5;  // as above: its rows are copied to the workers
  Start(ATTUNE_AHEAD, "\"" + std::to_string(kNumbers) + "\"", kEpochs);
  ScaleUpAndDown();
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counted"), static_cast<double>(kNumbers * kEpochs));
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
}

TEST_F(ScalingRun, TheLoopOfTheReadmeCountsEveryExampleOnce) {
  constexpr uint64_t kExamples = 1'000'000,
                     kEpochs = 16;  // as in readme_worker.cpp; a row counts to 2^24, which is a little more
  Start(ATTUNE_README_WORKER, "", kEpochs);
  ScaleUpAndDown();
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counted"), static_cast<double>(kExamples * kEpochs));
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
}

}  // namespace
}  // namespace attune::scaling_test
