// Checkpoints of a running job as a user meets them: real servers, workers, sidecars and controllers under `attune
// run`. The workers count in rows how often each item was processed, so a resumed job shows whether its checkpoint and
// its data fit together exactly.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <sstream>

#include "tests/local/cli/job_run.h"

namespace attune::checkpoint_test {
namespace {

using testing::HasSubstr;

constexpr int kEpochs = 3;

class CheckpointRun : public JobRun {
 protected:
  std::string checkpoints() const { return (directory_ / "checkpoints").string(); }

  // 4000 items in steps of 10 by two workers.
  void Start(int servers, int pause_ms, const std::string& spec, const std::vector<std::string>& more = {}) {
    std::ostringstream manifest;
    manifest << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: counts}\nspec:\n"
             << "  goal: {epochs: " << kEpochs << "}\n  synchronization: {mode: BSP}\n"
             << "  checkpoint: {directory: " << checkpoints() << ", keep: 2" << spec << "}\n"
             << "  servers: {replicas: " << servers << "}\n  workers:\n    replicas: 2\n    template:\n"
             << "      spec:\n        containers:\n        - {name: worker, image: none, command: [" << COUNTING_WORKER
             << ", '4000', '" << pause_ms << "']}\n";
    StartRun("counts", manifest.str(), more);
  }
};

TEST_F(CheckpointRun, AKilledJobResumesWithAnotherNumberOfServersAndCountsEachItemOncePerEpoch) {
  Start(3, 10, "");
  ASSERT_TRUE(AwaitFraction(0.1));
  const Outcome first = Attune({"checkpoint", "counts"});
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("checkpoint 1 in " + checkpoints() + " at step "));
  // Half of the three epochs: every lease of the first epoch has been processed, so every item has its row.
  ASSERT_TRUE(AwaitFraction(0.5));
  const Outcome second = Attune({"checkpoint", "counts"});
  ASSERT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("checkpoint 2 in "));
  const Json status = GetStatus();
  EXPECT_EQ(status.value(Json::json_pointer("/checkpoint/number"), 0), 2);
  EXPECT_GT(status.value(Json::json_pointer("/checkpoint/step"), 0), 0);
  EXPECT_EQ(status.value(Json::json_pointer("/checkpoint/rows"), 0), 4000) << status.dump(1);
  KillEverything();
  (void)run_->AwaitEnd();

  Start(1, 0, "", {"--resume", directory_.string()});
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
}

// What was trained is kept without anything having been asked for, and no item is processed twice.
TEST_F(CheckpointRun, CtrlCWritesACheckpointFromWhichTheRunIsContinuedExactly) {
  Start(2, 10, "", {"--name", "first"});
  ASSERT_TRUE(AwaitFraction(0.1));
  run_->Signal(SIGINT);
  const Outcome ended = run_->AwaitEnd(kTimeout);
  EXPECT_EQ(ended.code, 130) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("\"type\":\"stopped\""));
  EXPECT_THAT(ended.output, HasSubstr("\"checkpoint\":{\"directory\":\"" + checkpoints())) << ended.output;
  EXPECT_THAT(Processes(""), testing::IsEmpty()) << "left behind";
  EXPECT_THAT(Attune({"describe", "first"}).output, HasSubstr("Interrupted"));
  EXPECT_THAT(Attune({"runs"}).output, HasSubstr("Interrupted at"));

  run_ = JobRun::Start({"resume", "first", "--name", "second", "-o", "json"});
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
  const Outcome shown = Attune({"runs", "show", "second"});
  EXPECT_THAT(shown.output, HasSubstr("Resumed from: first"));
  EXPECT_THAT(shown.output, HasSubstr("Succeeded"));
  EXPECT_EQ(Attune({"resume", "second"}).code, 1) << "its goal is reached";
}

// All processes go and come back within one job, and again at once: each item counts once in every epoch.
TEST_F(CheckpointRun, ASuspendedAndARestartedJobContinueExactly) {
  Start(2, 10, "");
  ASSERT_TRUE(AwaitFraction(0.1));
  const Outcome suspended = Attune({"suspend", "counts"});
  ASSERT_EQ(suspended.code, 0) << suspended.output;
  EXPECT_THAT(suspended.output, HasSubstr("will continue from checkpoint 1 in " + checkpoints()));
  EXPECT_THAT(Processes("attune-server"), testing::IsEmpty());
  EXPECT_EQ(GetStatus().value("phase", ""), "Suspended");
  ASSERT_EQ(Attune({"scale", "counts", "servers=3"}).code, 0);
  const Outcome resumed = Attune({"resume", "counts"});
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  ASSERT_TRUE(AwaitReady("servers", 3));
  ASSERT_TRUE(AwaitReady("workers", 2));
  const Outcome restarted = Attune({"restart", "counts"});
  ASSERT_EQ(restarted.code, 0) << restarted.output;
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
}

TEST_F(CheckpointRun, StopWritesACheckpointUnlessItIsToldNotTo) {
  Start(2, 10, "", {"--name", "first"});
  ASSERT_TRUE(AwaitFraction(0.1));
  const Outcome stopped = Attune({"stop", "counts"});
  EXPECT_EQ(stopped.code, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("checkpoint 1 in " + checkpoints() + " at step "));
  EXPECT_THAT(stopped.output, HasSubstr("attune resume first"));
  (void)run_->AwaitEnd(kTimeout);
  EXPECT_THAT(Attune({"runs"}).output, HasSubstr("Stopped at"));

  Start(2, 10, "", {"--name", "second", "--resume", checkpoints()});
  ASSERT_TRUE(AwaitFraction(0.15));
  const Outcome at_once = Attune({"stop", "counts", "--no-checkpoint"});
  EXPECT_EQ(at_once.code, 0) << at_once.output;
  EXPECT_EQ(at_once.output.find("checkpoint"), std::string::npos) << at_once.output;
}

TEST_F(CheckpointRun, AnIntervalWritesCheckpointsOfWhichTheNewestAreKept) {
  Start(2, 20, ", intervalSeconds: 1");
  ASSERT_TRUE(AwaitStatus("checkpoint 3", [](const Json& status) {
    return status.value(Json::json_pointer("/checkpoint/number"), 0) >= 3;
  }));
  const Outcome listed = Attune({"inspect", checkpoints(), "--verify"});
  EXPECT_EQ(listed.code, 0) << listed.output;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "checkpoints" / "00000001.manifest.json"));
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
}

TEST_F(CheckpointRun, WithoutBackupsTheRowsOfAKilledServerGoBackToTheLastCheckpointAndTrainingGoesOn) {
  Start(3, 20, "");
  ASSERT_TRUE(AwaitFraction(0.15));
  const Outcome taken = Attune({"checkpoint", "counts"});
  ASSERT_EQ(taken.code, 0) << taken.output;
  ASSERT_TRUE(AwaitFraction(0.25));
  const pid_t victim = ProcessOf("counts-server-1", "attune-server");
  ASSERT_NE(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_TRUE(AwaitStatus("a recovery", [](const Json& status) {
    return status.value(Json::json_pointer("/recovery/restoredShards"), 0) > 0;
  }));
  const Json status = GetStatus();
  EXPECT_EQ(status.value(Json::json_pointer("/recovery/count"), 0), 1) << status.dump(1);
  EXPECT_EQ(status.value(Json::json_pointer("/recovery/checkpoint"), 0), 1) << status.dump(1);
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << "rows that were elsewhere lost nothing";
  EXPECT_LT(Metric(result, "counts_min"), kEpochs) << "what was pushed between checkpoint and loss is gone";
  EXPECT_GE(Metric(result, "counts_min"), kEpochs - 1);
  EXPECT_GT(result.value(Json::json_pointer("/recovery/restoredRows"), 0), 500);
}

TEST_F(CheckpointRun, FiveServersGoOnFromOneAndACheckpointThatCannotBeReadIsNamed) {
  Start(1, 10, "");
  ASSERT_TRUE(AwaitFraction(0.2));
  ASSERT_EQ(Attune({"checkpoint", "counts"}).code, 0);
  KillEverything();
  (void)run_->AwaitEnd();

  const std::filesystem::path file = directory_ / "checkpoints" / "00000001.counts.0.rows";
  ASSERT_TRUE(std::filesystem::exists(file));
  std::filesystem::copy_file(file, directory_ / "whole");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  Start(5, 0, "", {"--resume", checkpoints()});
  const Outcome refused = run_->AwaitEnd(kTimeout);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output, HasSubstr("00000001.counts.0.rows"));

  std::filesystem::copy_file(directory_ / "whole", file, std::filesystem::copy_options::overwrite_existing);
  Start(5, 0, "", {"--resume", checkpoints()});
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
}

}  // namespace
}  // namespace attune::checkpoint_test
