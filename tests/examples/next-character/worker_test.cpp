#include "examples/next-character/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "tests/examples/local_session.h"
#include "tests/scratch.h"

namespace attune::next_character::worker_test {
namespace {

using testing::HasSubstr;

class NextCharacterWorker : public testing::Test {
 protected:
  void SetUp() override {
    ps::World() = {};
    ps::World().model_directory = model_.path();
    ps::World().epochs = 2;
    // What follows "a " or "b " depends on the letter before the blank, which pairs of characters cannot see.
    Random random(1);
    std::string text;
    while (text.size() < 2 * kTextMin) text += random.Chance(0.5) ? "a 1\n" : "b 2\n";
    text_.Write("text", text);
    flags_.text = {text_.path()};
    flags_.network = {.context = 6, .embedding = 4, .hidden1 = 24, .hidden2 = 16};
    flags_.batch = 128;
    flags_.epoch_batches = 150;
    flags_.rate = 0.01F;
    flags_.judged_characters = 1000;
  }
  Scratch text_, model_;
  Flags flags_;
};

TEST_F(NextCharacterWorker, TrainsEveryItemOncePerEpochEvaluatesAndReports) {
  const Status status = RunWorker(flags_);
  ASSERT_TRUE(status.ok()) << status;
  const ps::LocalSessionWorld& world = ps::World();
  EXPECT_EQ(world.items_done.at("train"), std::vector<int>(150, 2));
  EXPECT_EQ(world.samples, 150U * 128 * 2);
  EXPECT_EQ(world.items_done.at("evaluate"), std::vector<int>(1, 1));
  EXPECT_EQ(world.rows.at("embedding"), kSymbols);
  EXPECT_EQ(world.rows.at("hidden1"), 6 * 4 + 1U);
  EXPECT_EQ(world.rows.at("output"), 16 + 1U);
  EXPECT_NEAR(world.losses.front(), std::log(kSymbols), 0.5);
  ASSERT_TRUE(world.result);
  // One of four characters is a coin toss: 1 / 4 bit. Pairs see another toss at every digit: 2 / 4.
  EXPECT_NEAR(world.result->metrics.at("bigram_bits"), 0.5, 0.02);
  EXPECT_NEAR(world.result->metrics.at("held_out_bits"), 0.25, 0.05);
  EXPECT_THAT(world.result->summary, HasSubstr("a 1\n"));
  EXPECT_THAT(world.result->summary, HasSubstr("b 2\n"));
}

TEST_F(NextCharacterWorker, ComputesWithAsManyThreadsAsItIsTold) {
  ps::World().threads = 3;
  flags_.worker_threads_max = 5;
  const Status status = RunWorker(flags_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ps::World().threads_max, 5U);
  EXPECT_NEAR(ps::World().result->metrics.at("held_out_bits"), 0.25, 0.05) << "it learns the same";
}

TEST_F(NextCharacterWorker, AskedToLeaveItHandsBackWhatItDidNotDo) {
  ps::World().drain_after_steps = 5;
  EXPECT_TRUE(RunWorker(flags_).ok());
  const auto& done = ps::World().items_done.at("train");
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 5);
  EXPECT_FALSE(ps::World().result) << "a leaving worker does not evaluate";
}

TEST_F(NextCharacterWorker, ALostServerOrMissingTextEndsItWithThatMessage) {
  ps::World().fail_pulls_after = 11;
  EXPECT_EQ(Message(RunWorker(flags_)), "server 0 is away");
  flags_.text = {"/absent"};
  EXPECT_THAT(std::string(Message(RunWorker(flags_))), HasSubstr("/absent"));
}

}  // namespace
}  // namespace attune::next_character::worker_test
