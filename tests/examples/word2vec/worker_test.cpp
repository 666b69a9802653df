#include "examples/word2vec/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/os/file.h"
#include "base/random.h"
#include "tests/examples/local_session.h"
#include "tests/scratch.h"

namespace attune::word2vec::worker_test {
namespace {

using testing::HasSubstr;

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    ps::World() = {};
    ps::World().model_directory = model_.path();
    // Two topics that never meet: words of one are each other's neighbors.
    Random random(1);
    std::string text;
    for (int line = 0; line < 3000; ++line) {
      const char topic = random.Chance(0.5) ? 'a' : 'b';
      for (int i = 0; i < 12; ++i) text += topic + std::to_string(random.Below(20)) + " ";
    }
    text_.Write("text", text);
    flags_.corpus.directories = {text_.path()};
    flags_.batch.subsample = 1;
    flags_.dim = 16;
    flags_.chunk_words = 200;
    flags_.neighbors = {"a3", "b7"};
    ps::World().epochs = 3;
  }
  Scratch text_, model_;
  Flags flags_;
};

TEST_F(WorkerTest, TrainsEveryItemOncePerEpochEvaluatesAndReports) {
  const Status status = RunWorker(flags_);
  ASSERT_TRUE(status.ok()) << status;
  const ps::LocalSessionWorld& world = ps::World();
  EXPECT_EQ(world.items_done.at("train"), std::vector<int>(177, 3)) << "36,000 words in chunks of 200, 3 held out";
  EXPECT_EQ(world.steps, 177U * 3);
  EXPECT_EQ(world.samples, 177U * 200 * 3);
  EXPECT_EQ(world.items_done.at("evaluate"), std::vector<int>(1, 1));
  EXPECT_EQ(world.rows.at("input"), 40U);
  ASSERT_TRUE(world.result);
  EXPECT_EQ(world.result->metrics.at("vocabulary"), 40);
  EXPECT_NEAR(world.losses.front(), 6 * std::log(2.0), 0.05);
  EXPECT_LT(world.result->metrics.at("held_out_loss"), 3.9) << "distinguishing the topics is worth 0.3";
  const std::string summary = world.result->summary;
  EXPECT_THAT(summary, HasSubstr("a3: a"));
  EXPECT_THAT(summary, HasSubstr("b7: b"));
  EXPECT_EQ(ReadFile(world.result->model_path)->substr(0, 6), "40 16\n");
}

TEST_F(WorkerTest, ReportsTheHeldOutLossWheneverAnEvaluationIsDueAndAtTheEnd) {
  ps::World().evaluations_due = 2;
  ASSERT_TRUE(RunWorker(flags_).ok());
  const std::vector<double>& reported = ps::World().metrics.at("held_out_loss");
  ASSERT_EQ(reported.size(), 3U);
  EXPECT_GT(reported[0], reported[2]) << "it has learned since";
  EXPECT_EQ(reported[2], ps::World().result->metrics.at("held_out_loss"));
}

TEST_F(WorkerTest, AskedToLeaveItHandsBackWhatItDidNotDo) {
  ps::World().drain_after_steps = 5;
  EXPECT_TRUE(RunWorker(flags_).ok());
  EXPECT_EQ(ps::World().steps, 5U);
  const auto& done = ps::World().items_done.at("train");
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 5);
  EXPECT_FALSE(ps::World().result) << "a leaving worker does not evaluate";
}

TEST_F(WorkerTest, AnUnwritableModelDirectoryFailsClearly) {
  ps::World().model_directory = model_.path() / "absent";
  const Status status = RunWorker(flags_);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(Message(status)), HasSubstr("model directory"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("absent"));
  EXPECT_FALSE(ps::World().result);
}

TEST_F(WorkerTest, ALostServerOrMissingTextEndsItWithThatMessage) {
  ps::World().fail_pulls_after = 11;
  EXPECT_EQ(Message(RunWorker(flags_)), "server 0 is away");
  ps::World().connect_status = Error(StatusCode::kDeadlineExceeded, "no coordinator");
  EXPECT_EQ(Message(RunWorker(flags_)), "no coordinator");
  flags_.corpus.directories = {"/absent"};
  EXPECT_THAT(std::string(Message(RunWorker(flags_))), HasSubstr("/absent"));
}

}  // namespace
}  // namespace attune::word2vec::worker_test
