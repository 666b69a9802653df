// attune pull-model on a run of this machine, and what it says at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/os/file.h"
#include "cli/commands/commands.h"
#include "cli/pull/pull_text.h"
#include "cli/runs/run_record.h"
#include "cli/runs/run_state.h"
#include "tests/scratch.h"

namespace attune::cli::pull_model_test {
namespace {

using ::testing::HasSubstr;

class PullModelTest : public ::testing::Test {
 protected:
  PullModelTest() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(scratch_.path());
    ::setenv("XDG_STATE_HOME", (scratch_.path() / "state").c_str(), 1);  // only the runs of this test
    ::setenv("XDG_RUNTIME_DIR", scratch_.path().c_str(), 1);
    ::setenv("KUBECONFIG", "", 1);
    ::setenv("HOME", scratch_.path().c_str(), 1);
    RunRecord record;
    record.name = "first";
    record.outcome = RunOutcome::kSucceeded;
    record.jobs.push_back({.name = "w2v", .name_space = "default"});
    const kube::Json job = {{"apiVersion", "attune.dev/v1alpha1"},
                            {"kind", "TrainingJob"},
                            {"metadata", {{"name", "w2v"}, {"namespace", "default"}, {"uid", "u"}}},
                            {"spec", kube::Json::object()}};
    scratch_.Write(std::string("attune-runs/first/") + kRunFile, SaveRecord(record));
    scratch_.Write("attune-runs/first/" + StateFile("w2v"), SaveState({.job = job, .pods = {}, .events = {}}));
  }
  ~PullModelTest() override {
    std::filesystem::current_path(before_);
    ::unsetenv("XDG_STATE_HOME");
    ::unsetenv("XDG_RUNTIME_DIR");
  }
  void WriteModel(const std::string& name, const std::string& content) const {
    scratch_.Write("attune-runs/first/claims/model/w2v/" + name, content);
  }
  int Run(PullModelArguments arguments) {
    arguments.job = "first";
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = PullModel(arguments, {});
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }
  const std::filesystem::path before_;
  const Scratch scratch_;
  std::string output_, errors_;
};

TEST_F(PullModelTest, CopiesTheModelOfARunOnThisMachine) {
  WriteModel("tables/00000001.manifest.json", "{}");
  WriteModel("vocabulary.txt", "the\n");
  WriteModel("checkpoints/00000003.manifest.json", "{}");
  EXPECT_EQ(Run({}), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("w2v: 2 files, 6 B, from "));
  EXPECT_THAT(output_, HasSubstr("claims/model/w2v to w2v\nleft out: 1 file of checkpoints (--checkpoints)\n"));
  EXPECT_THAT(errors_, HasSubstr("copied vocabulary.txt\n"));
  EXPECT_EQ(scratch_.Read("w2v/vocabulary.txt"), "the\n");
  EXPECT_EQ(scratch_.Read("w2v/checkpoints/00000003.manifest.json"), "(no file)");
  PullModelArguments with_checkpoints;
  with_checkpoints.checkpoints = with_checkpoints.json = true;
  EXPECT_EQ(Run(with_checkpoints), 0) << errors_;
  const auto said = kube::Json::parse(output_);
  EXPECT_EQ(said.at("directory"), "w2v");
  EXPECT_EQ(said.at("bytes"), 8);
  EXPECT_EQ(said.at("received"), 2);
  EXPECT_EQ(said.at("files").size(), 3U);
  EXPECT_EQ(scratch_.Read("w2v/checkpoints/00000003.manifest.json"), "{}");
}

TEST_F(PullModelTest, WhatIsThereAndDiffersNeedsForce) {
  WriteModel("vocabulary.txt", "the\n");
  scratch_.Write("mine/vocabulary.txt", "a\n");
  PullModelArguments arguments;
  arguments.directory = "mine";
  EXPECT_EQ(Run(arguments), 1);
  EXPECT_THAT(errors_,
              HasSubstr("vocabulary.txt; it stays as it is. Name another directory, or replace it with --force"));
  arguments.force = true;
  EXPECT_EQ(Run(arguments), 0) << errors_;
  EXPECT_EQ(scratch_.Read("mine/vocabulary.txt"), "the\n");
}

TEST_F(PullModelTest, AJobWithoutAModelIsAnErrorThatSaysWhatThereIs) {
  EXPECT_EQ(Run({}), 1);
  EXPECT_THAT(errors_, HasSubstr("job w2v has saved no model yet: there are no files in "));
  WriteModel("checkpoints/00000003.manifest.json", "{}");
  EXPECT_EQ(Run({}), 1);
  EXPECT_THAT(errors_, HasSubstr("holds checkpoints alone; copy those with --checkpoints"));
}

TEST(PullText, SaysWhatWasThereAndWhatWasLeftOut) {
  const PulledModel model{.job = "w2v", .source = "claim models, /m/w2v", .directory = "to"};
  CopyResult result{
      .files = {{"a", 1, true}, {"b", 2, false}}, .left_out = 1, .unwanted = 2, .bytes = 3, .received = 2};
  EXPECT_EQ(PulledText(model, result),
            "w2v: 2 files, 3 B, from claim models, /m/w2v to to; 1 of them was there already\n"
            "left out: 2 files of checkpoints (--checkpoints)\n"
            "left out: 1 entry that no copy is made of: symbolic links, devices, names with control characters");
  result.files[1].was_there = true;
  result.left_out = result.unwanted = 0;
  EXPECT_EQ(PulledText(model, result),
            "w2v: 2 files, 3 B, from claim models, /m/w2v to to; all of them were there already");
}

}  // namespace
}  // namespace attune::cli::pull_model_test
