// Where checkpoints are found before a run begins, and what is said where there are none.
#include "cli/runs/checkpoint_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/os/file.h"
#include "cli/commands/commands.h"
#include "ps/checkpoint/checkpoint_writer.h"
#include "tests/scratch.h"

namespace attune::cli::checkpoint_lookup_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CheckpointLookup : public testing::Test {
 protected:
  CheckpointLookup() : before_(fs::current_path()) { fs::current_path(root_); }
  ~CheckpointLookup() override { fs::current_path(before_); }

  void WriteCheckpoint(const fs::path& directory, bool best = false) {
    fs::create_directories(directory);
    ps::CheckpointWriter writer(ps::RealFileSystem(), time_, {.job_uid = "job-1", .protocol_version = 1});
    const auto plan = writer.Begin(directory);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ps::CheckpointParts parts;
    if (best)
      parts.cut.best = ps::BestCheckpoint{.metric = "recall", .at = {}, .directory = "", .checkpoint = plan->number};
    ASSERT_TRUE(writer.Commit(*plan, parts).ok());
  }
  void WriteDamaged(const fs::path& directory) {
    fs::create_directories(directory);
    ASSERT_TRUE(WriteFileAtomically(directory / "00000001.manifest.json", "{\"format\":").ok());
  }
  // A run directory with the record of a run of job toy.
  RunRecord WriteRun(const fs::path& directory, const std::string& checkpoint) {
    fs::create_directories(directory / "claims/model/toy");
    RunRecord record;
    record.name = directory.filename();
    record.outcome = RunOutcome::kInterrupted;
    record.started = 1'800'000'000;
    record.directory = fs::absolute(directory);
    RunJob job;
    job.name = "toy";
    job.checkpoint = checkpoint;
    record.jobs = {job};
    EXPECT_TRUE(WriteFileAtomically(directory / kRunFile, SaveRecord(record)).ok());
    return record;
  }
  static kube::Json Job(const std::string& resume_from) {
    kube::Json job = {{"metadata", {{"name", "toy"}}},
                      {"spec", {{"checkpoint", {{"resumeFrom", resume_from}}}, {"servers", kube::Json::object()}}}};
    return job;
  }
  static std::string ResumeFrom(const kube::Json& job) {
    return std::string(kube::StringAt(job, {"spec", "checkpoint", "resumeFrom"}));
  }
  static std::string Text(const Status& status) { return std::string(Message(status)); }

  ManualTime time_;
  const fs::path before_;
  const Scratch scratch_;
  const fs::path& root_ = scratch_.path();
};

TEST_F(CheckpointLookup, FindsItWhereverOneMayPointTo) {
  const struct {
    const char* name;
    fs::path lies, asked;
  } cases[] = {
      {"the directory itself", "a/own", "a/own"},
      {"a model that was saved", "b/model/tables", "b/model"},
      {"beside the model", "c/toy/checkpoints", "c/toy"},
      {"a run directory", "d/claims/model/toy/checkpoints", "d"},
      {"a run directory whose job had another name", "e/claims/model/other/checkpoints", "e"},
      {"a claim that holds them itself", "f/claims/model", "f"},
      {"a path with dots", "g/own", "g/../g/./own"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.name);
    WriteCheckpoint(each.lies);
    const auto found = FindResumeDirectory(each.asked, "toy");
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, root_ / each.lies);
  }
}

TEST_F(CheckpointLookup, OfTwoJobsOfARunTheOneThatIsStartedHasItsOwn) {
  WriteCheckpoint("run/claims/model/first/checkpoints");
  WriteCheckpoint("run/claims/model/second/checkpoints");
  EXPECT_EQ(*FindResumeDirectory("run", "second"), root_ / "run/claims/model/second/checkpoints");
}

TEST_F(CheckpointLookup, ADirectoryOfARunIsLookedUpLikeTheRun) {
  WriteCheckpoint("shared/toy");
  const RunRecord run = WriteRun("runs/first", (root_ / "shared/toy").string());
  EXPECT_EQ(*FindCheckpointOf(run), root_ / "shared/toy") << "where its record says";
  EXPECT_EQ(*FindResumeDirectory("runs/first", "toy"), root_ / "shared/toy");

  const RunRecord moved = WriteRun("runs/moved", "/where/it/was");
  WriteCheckpoint("runs/moved/claims/model/toy/checkpoints");
  EXPECT_EQ(*FindCheckpointOf(moved), root_ / "runs/moved/claims/model/toy/checkpoints");
  EXPECT_EQ(*FindResumeDirectory("runs/moved", "toy"), root_ / "runs/moved/claims/model/toy/checkpoints");
}

TEST_F(CheckpointLookup, AWholeCheckpointElsewhereIsTakenBeforeADamagedOneIsComplainedOf) {
  WriteDamaged("run/checkpoints");
  EXPECT_EQ(FindResumeDirectory("run", "toy").status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(Text(FindResumeDirectory("run", "toy").status()), HasSubstr("checkpoint 1"));
  WriteCheckpoint("run/claims/model/toy/checkpoints");
  EXPECT_EQ(*FindResumeDirectory("run", "toy"), root_ / "run/claims/model/toy/checkpoints");
}

TEST_F(CheckpointLookup, WhereThereIsNoneAllThreeSayWhatLiesThereAndWhatToDo) {
  const RunRecord run = WriteRun("first", "");
  const std::string directory = (root_ / "first").string();
  const std::string found =
      " holds no checkpoint, neither itself nor in checkpoints or claims/*/checkpoints (it holds claims, run.json); a "
      "job writes them when spec.checkpoint.intervalSeconds or `attune checkpoint JOB` asks for them; ";
  EXPECT_EQ(Text(FindResumeDirectory("first", "toy").status()),
            "--resume first (" + directory + ")" + found +
                "name another directory, or leave --resume out to begin from nothing");
  EXPECT_EQ(
      Text(FindCheckpointOf(run).status()),
      "run first (" + directory + ")" + found + "begin from nothing with `attune run " + directory + "/manifest.yaml`");
  kube::Json job = Job(directory);
  EXPECT_EQ(Text(ResolveResumeFrom(job)), "job toy: spec.checkpoint.resumeFrom " + directory + found +
                                              "name another directory, or remove the field to begin from nothing");
}

TEST_F(CheckpointLookup, WhatIsNoDirectoryIsSaid) {
  std::ofstream("file") << "x";
  fs::create_directories("empty");
  EXPECT_THAT(Text(FindResumeDirectory("absent", "toy").status()), HasSubstr("/absent): there is no such directory; "));
  EXPECT_THAT(Text(FindResumeDirectory("file", "toy").status()), HasSubstr("/file) is no directory; "));
  EXPECT_THAT(Text(FindResumeDirectory("empty", "toy").status()), HasSubstr("(it is empty)"));
  kube::Json job = Job("/absent/of/all");
  EXPECT_THAT(Text(ResolveResumeFrom(job)),
              HasSubstr("job toy: spec.checkpoint.resumeFrom /absent/of/all: there is no such directory; "));
}

TEST_F(CheckpointLookup, AJobThatBeginsFromNothingIsLeftAlone) {
  kube::Json job = {{"metadata", {{"name", "toy"}}}, {"spec", kube::Json::object()}};
  const kube::Json before = job;
  EXPECT_TRUE(ResolveResumeFrom(job).ok());
  EXPECT_EQ(job, before);
}

TEST_F(CheckpointLookup, TheManifestNamesTheDirectoryThatWasFound) {
  WriteCheckpoint("run/claims/model/toy/checkpoints");
  kube::Json job = Job((root_ / "run").string());
  ASSERT_TRUE(ResolveResumeFrom(job).ok());
  EXPECT_EQ(ResumeFrom(job), (root_ / "run/claims/model/toy/checkpoints").string());
  kube::Json whole = Job((root_ / "run/claims/model/toy/checkpoints").string());
  ASSERT_TRUE(ResolveResumeFrom(whole).ok());
  EXPECT_EQ(ResumeFrom(whole), (root_ / "run/claims/model/toy/checkpoints").string());
}

TEST_F(CheckpointLookup, APathInAVolumeIsLookedUpWhereTheVolumeLies) {
  WriteCheckpoint("host/earlier/checkpoints");
  kube::Json job = Job("/data/earlier");
  job["spec"]["servers"]["template"]["spec"] = {
      {"volumes", {{{"name", "disk"}, {"hostPath", {{"path", (root_ / "host").string()}}}}, {{"name", "own"}}}},
      {"containers",
       {{{"name", "server"},
         {"volumeMounts",
          {{{"name", "disk"}, {"mountPath", "/data"}}, {{"name", "own"}, {"mountPath", "/data/own"}}}}}}}};
  const Status resolved = ResolveResumeFrom(job);
  ASSERT_TRUE(resolved.ok()) << resolved;
  EXPECT_EQ(ResumeFrom(job), "/data/earlier/checkpoints") << "as the pods see it";
  job["spec"]["checkpoint"]["resumeFrom"] = "/data/own/earlier";
  EXPECT_THAT(Text(ResolveResumeFrom(job)),
              HasSubstr("lies in volume own (/data/own), which is empty when a run on this machine begins"));
  job["spec"]["checkpoint"]["resumeFrom"] = "/var/lib/attune/model/toy/checkpoints";
  EXPECT_THAT(Text(ResolveResumeFrom(job)), HasSubstr("lies in the model's volume (/var/lib/attune/model)"));
}

TEST_F(CheckpointLookup, TheBestOneIsLookedForWhereSomeAreAndNamedWhereNoneIs) {
  WriteCheckpoint("run/checkpoints");
  const auto none = FindResumeDirectory("run", "toy", true);
  EXPECT_THAT(Text(none.status()), HasSubstr("holds no checkpoint that is marked as the best; jobs with "
                                             "spec.checkpoint.best write one; it holds 1; leave --best out"));
  WriteCheckpoint("run/claims/model/toy/checkpoints", true);
  const auto found = FindResumeDirectory("run", "toy", true);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, root_ / "run/claims/model/toy/checkpoints") << "another place has none that is marked";
  EXPECT_EQ(*FindResumeDirectory("run", "toy"), root_ / "run/checkpoints");
  kube::Json job = Job((root_ / "run/checkpoints").string());
  job["spec"]["checkpoint"]["resumeAt"] = "Best";
  EXPECT_THAT(Text(ResolveResumeFrom(job)), HasSubstr("set resumeAt: Newest"));
}

// Before any process starts, and without a run directory.
TEST_F(CheckpointLookup, ARunIsRefusedWhoseManifestBeginsWhereNoCheckpointIs) {
  std::ofstream("job.yaml") << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: toy}\nspec:\n"
                            << "  checkpoint: {resumeFrom: /absent/of/all}\n  workers:\n    template:\n      spec:\n"
                            << "        containers: [{name: worker, image: none, command: [/bin/true]}]\n";
  testing::internal::CaptureStderr();
  const int code = cli::Run({.file = "job.yaml"}, {});
  EXPECT_EQ(code, 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "attune: job toy: spec.checkpoint.resumeFrom /absent/of/all: there is no such directory; name another "
            "directory, or remove the field to begin from nothing\n");
  EXPECT_FALSE(fs::exists("attune-runs"));
}

}  // namespace
}  // namespace attune::cli::checkpoint_lookup_test
