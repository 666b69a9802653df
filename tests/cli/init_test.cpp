#include "cli/launch/starter_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/os/file.h"
#include "cli/commands/commands.h"
#include "operator/api/manifest/manifest.h"
#include "tests/cli/golden.h"
#include "tests/scratch.h"

namespace attune::cli::init_test {
namespace {

using ::testing::HasSubstr;

// The one manifest in the text, which has no problems.
kube::Json ValidManifest(const std::string& text) {
  const auto manifests = api::ParseManifests(text, "job.yaml");
  EXPECT_TRUE(manifests.ok()) << manifests.status() << "\n" << text;
  if (!manifests.ok() || manifests->size() != 1) return {};
  for (const api::FieldProblem& problem : manifests->front().problems)
    ADD_FAILURE() << api::ToString(problem, "job.yaml") << "\n" << text;
  return manifests->front().object;
}

TEST(Init, TheManifestIsTheRecordedOne) {
  const auto plain = StarterManifest({});
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto full = StarterManifest({.name = "my-model",
                                     .image = "registry.example/my-model:1",
                                     .command = "my-model --dim 64",
                                     .servers = 2,
                                     .workers = 4,
                                     .epochs = 3,
                                     .steps = 1000,
                                     .target_loss = 2.5,
                                     .tuning = api::TuningMode::kAuto});
  ASSERT_TRUE(full.ok()) << full.status();
  ExpectGolden(*plain + "---\n" + *full, "init.yaml.txt");
  for (const std::string& text : {*plain, *full}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  }
}

TEST(Init, EveryCombinationOfOptionsIsValidAndSaysWhatWasAskedFor) {
  const std::optional<api::TuningMode> kModes[] = {std::nullopt,
                                                   api::TuningMode::kOff,
                                                   api::TuningMode::kRecommend,
                                                   api::TuningMode::kInitial,
                                                   api::TuningMode::kInPlaceOnly,
                                                   api::TuningMode::kAuto};
  const char* kCommands[] = {"attune-word2vec", "my-model --dim 64", "echo \"$HOME\" && exec my-model", "a: b #c - [d"};
  int made = 0;
  for (const auto& mode : kModes) {
    for (const char* command : kCommands) {
      for (int goals = 0; goals < 8; ++goals) {
        for (const uint64_t servers : {1, 7}) {
          Starter starter{.name = "a-1", .image = "r.example:5000/x@sha256:00", .command = command, .servers = servers};
          starter.workers = 8 - servers;
          if ((goals & 1) != 0) starter.epochs = 2;
          if ((goals & 2) != 0) starter.steps = 100;
          if ((goals & 4) != 0) starter.target_loss = 1e-3;
          starter.tuning = mode;
          const auto text = StarterManifest(starter);
          ASSERT_TRUE(text.ok()) << text.status();
          const api::TrainingJob job = api::ParseTrainingJob(ValidManifest(*text)).job;
          ++made;
          EXPECT_EQ(job.name, "a-1");
          EXPECT_EQ(job.spec.servers.replicas, static_cast<int>(servers));
          EXPECT_EQ(job.spec.workers.replicas, static_cast<int>(8 - servers));
          EXPECT_EQ(job.spec.goal.epochs.has_value(), goals == 0 || (goals & 1) != 0) << goals;
          EXPECT_EQ(job.spec.goal.steps.value_or(0), (goals & 2) != 0 ? 100U : 0U);
          EXPECT_EQ(job.spec.goal.target_loss.value_or(0), (goals & 4) != 0 ? 1e-3 : 0);
          EXPECT_EQ(job.spec.tuning.mode, mode.value_or(api::TuningMode::kOff));
        }
      }
    }
  }
  EXPECT_EQ(made, 6 * 4 * 8 * 2);
}

TEST(Init, WordsOfACommandArePassedOnAndWhatOnlyAShellUnderstandsIsLeftToOne) {
  const auto command = [](const std::string& text) {
    const auto manifest = StarterManifest({.command = text});
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    const kube::Json object = ValidManifest(manifest.value_or(""));
    return kube::At(object, {"spec", "workers", "template", "spec", "containers"})[0]["command"];
  };
  EXPECT_EQ(command("my-model  --dim 64"), (kube::Json{"my-model", "--dim", "64"}));
  EXPECT_EQ(command("cd /x && ./my-model \"a b\""), (kube::Json{"/bin/sh", "-c", "cd /x && ./my-model \"a b\""}));
}

TEST(Init, WhatIsNoValidManifestIsRefusedWithTheField) {
  const auto refused = StarterManifest({.name = "My Model"});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(refused.status())), HasSubstr("metadata.name"));
}

class InitCommand : public testing::Test {
 protected:
  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  const std::string file_ = directory_ / "job.yaml";
};

TEST_F(InitCommand, AFileThatExistsIsWrittenOverOnlyWhenThatIsAskedFor) {
  EXPECT_EQ(Init({.name = "first", .output = file_}), 0);
  const std::string before = ReadFile(file_).value_or("");
  EXPECT_THAT(before, HasSubstr("\"first\""));
  EXPECT_EQ(Init({.name = "second", .output = file_}), 1);
  EXPECT_EQ(ReadFile(file_).value_or(""), before);
  EXPECT_EQ(Init({.name = "second", .output = file_, .force = true}), 0);
  EXPECT_THAT(ReadFile(file_).value_or(""), HasSubstr("\"second\""));
}

TEST_F(InitCommand, WhatValidateTakesIsWhatWasWrittenAndNothingIsWrittenOfWhatItWouldRefuse) {
  EXPECT_EQ(Init({.name = "job", .output = file_}), 0);
  EXPECT_EQ(Validate({.files = {file_}}), 0);
  const std::string other = (directory_ / "other.yaml").string();
  EXPECT_EQ(Init({.name = "No Name", .output = other}), 2);
  EXPECT_EQ(Init({.name = "job", .tune = "sometimes", .output = other}), 2);
  EXPECT_FALSE(std::filesystem::exists(other));
}

}  // namespace
}  // namespace attune::cli::init_test
