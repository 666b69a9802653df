#include "examples/header-words/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/os/file.h"
#include "tests/examples/header-words/two_kinds.h"
#include "tests/examples/local_session.h"
#include "tests/scratch.h"

namespace attune::header_words::worker_test {
namespace {

using testing::HasSubstr;

class HeaderWordsWorker : public testing::Test {
 protected:
  void SetUp() override {
    ps::World() = {};
    ps::World().model_directory = model_.path();
    ps::World().epochs = 60;
    flags_.corpus = {.directories = {text_.path()}, .headers_min = 2, .identifiers_min = 2};
    flags_.headers = 4;
    flags_.dim = 4;
    flags_.shown = {"string/h1.h"};
  }
  const TwoKinds text_;
  const Scratch model_;
  Flags flags_;
};

TEST_F(HeaderWordsWorker, TrainsEveryItemOncePerEpochEvaluatesAndReports) {
  const Status status = RunWorker(flags_);
  ASSERT_TRUE(status.ok()) << status;
  const ps::LocalSessionWorld& world = ps::World();
  EXPECT_EQ(world.items_done.at("train"), std::vector<int>(10, 60));
  EXPECT_EQ(world.items_done.at("evaluate"), std::vector<int>(1, 1));
  EXPECT_EQ(world.rows.at("header"), 2U * kHeadersOfAKind);
  EXPECT_EQ(world.rows.at("identifier"), 2U * kNamesOfAKind + 4) << "int, bool and two names are in both kinds";
  EXPECT_LT(world.losses.back(), world.losses.front() / 2);
  ASSERT_TRUE(world.result);
  EXPECT_LT(world.result->metrics.at("held_out_error"), 0.9 * world.result->metrics.at("additive_error"));
  EXPECT_LT(world.result->metrics.at("held_out_error"), 0.9 * world.result->metrics.at("mean_error"));
  EXPECT_THAT(world.result->summary, HasSubstr("string/h1.h\n  of its kind: string/"));
  const std::string names = *ReadFile(model_.path() / "headers.txt");
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), 2 * kHeadersOfAKind);
}

TEST_F(HeaderWordsWorker, LearnsTheSameWithAnnouncements) {
  flags_.announce = true;
  ASSERT_TRUE(RunWorker(flags_).ok());
  ASSERT_TRUE(ps::World().result);
  EXPECT_LT(ps::World().result->metrics.at("held_out_error"), 0.9 * ps::World().result->metrics.at("additive_error"));
}

TEST_F(HeaderWordsWorker, AskedToLeaveItHandsBackWhatItDidNotDo) {
  ps::World().lease_items = 1;  // nothing to fetch ahead
  ps::World().drain_after_steps = 5;
  EXPECT_TRUE(RunWorker(flags_).ok());
  const auto& done = ps::World().items_done.at("train");
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 5);
  EXPECT_FALSE(ps::World().result) << "a leaving worker does not evaluate";
}

TEST_F(HeaderWordsWorker, ALostServerOrMissingTextEndsItWithThatMessage) {
  ps::World().fail_pulls_after = 11;
  EXPECT_EQ(Message(RunWorker(flags_)), "server 0 is away");
  flags_.corpus.directories = {text_.path() / "none"};
  EXPECT_THAT(std::string(Message(RunWorker(flags_))), HasSubstr("cannot read the text directory"));
}

}  // namespace
}  // namespace attune::header_words::worker_test
