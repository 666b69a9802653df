// Checkpoints of a running job as a user meets them: real servers, workers, sidecars and controllers under `attune
// run`. The workers count in rows how often each item was processed, so a resumed job shows whether its checkpoint and
// its data fit together exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "operator/kube/object.h"
#include "tests/local/cli/program.h"

namespace attune {
namespace {

using kube::Json;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience(120);
constexpr int kEpochs = 3;

class CheckpointRun : public testing::Test {
 protected:
  void SetUp() override {
    // Not below /tmp, of which every run has its own.
    std::string pattern = "/var/tmp/attune-checkpoint-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    environment_ = {{"XDG_RUNTIME_DIR", pattern}, {"HOME", pattern}, {"KUBECONFIG", ""}};
  }
  void TearDown() override {
    run_.reset();
    KillEverything();
    std::filesystem::remove_all(directory_);
  }

  std::string checkpoints() const { return (directory_ / "checkpoints").string(); }

  // 4000 items in steps of 10 by two workers.
  void Start(int servers, int pause_ms, const std::string& spec, const std::vector<std::string>& more = {}) {
    const std::string file = (directory_ / "job.yaml").string();
    std::ofstream(file) << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: counts}\nspec:\n"
                        << "  goal: {epochs: " << kEpochs << "}\n  synchronization: {mode: BSP}\n"
                        << "  checkpoint: {directory: " << checkpoints() << ", keep: 2" << spec << "}\n"
                        << "  servers: {replicas: " << servers << "}\n  workers:\n    replicas: 2\n    template:\n"
                        << "      spec:\n        containers:\n        - {name: worker, image: none, command: ["
                        << COUNTING_WORKER << ", '4000', '" << pause_ms << "']}\n";
    std::vector<std::string> command = {"run", file, "-o", "json"};
    command.insert(command.end(), more.begin(), more.end());
    run_ = std::make_unique<Program>(command, directory_, environment_);
  }

  Outcome Attune(const std::vector<std::string>& arguments) const {
    return Program(arguments, directory_, environment_).AwaitEnd();
  }

  Json GetStatus() const {
    const Json answer = Json::parse(Attune({"get", "counts", "-o", "json"}).output, nullptr, false);
    if (!answer.is_object()) return Json::object();
    const Json& job = answer.contains("items") && !answer["items"].empty() ? answer["items"][0] : answer;
    return job.value("status", Json::object());
  }

  bool AwaitStatus(const std::string& what, const std::function<bool(const Json&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Json status;
    while (std::chrono::steady_clock::now() < deadline) {
      status = GetStatus();
      if (wanted(status)) return true;
      if (run_->AwaitOutput("\"type\":\"result\"", std::chrono::seconds(1))) break;  // reads along
    }
    ADD_FAILURE() << what << " was not seen; last status:\n"
                  << status.dump(1) << "\nthe run said:\n"
                  << run_->AwaitEnd(std::chrono::seconds(5)).output;
    return false;
  }
  bool AwaitFraction(double fraction) {
    return AwaitStatus("fraction " + std::to_string(fraction), [&](const Json& status) {
      return status.value(Json::json_pointer("/progress/fraction"), 0.0) > fraction;
    });
  }

  Json AwaitResult() {
    const Outcome outcome = run_->AwaitEnd(kPatience);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    std::istringstream lines(outcome.output);
    Json result;
    for (std::string line; std::getline(lines, line);) {
      Json parsed = Json::parse(line, nullptr, false);
      if (parsed.is_object() && parsed.value("type", "") == "result") result = std::move(parsed);
    }
    EXPECT_EQ(result.value("outcome", ""), "Succeeded") << outcome.output;
    return result;
  }
  static double Metric(const Json& result, const std::string& name) {
    return result.value(Json::json_pointer("/result/metrics/" + name), -1.0);
  }

  // Processes that were started below this test, by what they execute; "": all.
  std::vector<pid_t> Processes(const std::string& program) const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::error_code ignored;
      std::ifstream file(entry.path() / "environ");
      const std::string variables((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      if (variables.find("HOME=" + directory_.string()) == std::string::npos) continue;
      const auto executable = std::filesystem::read_symlink(entry.path() / "exe", ignored);
      if (program.empty() || executable.filename() == program) found.push_back(std::stoi(entry.path().filename()));
    }
    return found;
  }
  // But for the one of this index.
  std::vector<pid_t> ServersBut(int index) const {
    std::vector<pid_t> found = Processes("attune-server");
    std::erase_if(found, [&](pid_t process) {
      std::ifstream file("/proc/" + std::to_string(process) + "/environ");
      const std::string variables((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      return variables.find(std::string(1, '\0') + "ATTUNE_INDEX=" + std::to_string(index) + '\0') != std::string::npos;
    });
    return found;
  }
  void KillEverything() const {
    for (const pid_t process : Processes("")) kill(process, SIGKILL);
  }

  std::filesystem::path directory_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<Program> run_;
};

TEST_F(CheckpointRun, AKilledJobResumesWithAnotherNumberOfServersAndCountsEachItemOncePerEpoch) {
  Start(3, 10, "");
  ASSERT_TRUE(AwaitFraction(0.1));
  const Outcome first = Attune({"checkpoint", "counts"});
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("checkpoint 1 in " + checkpoints() + " at step "));
  ASSERT_TRUE(AwaitFraction(0.3));
  const Outcome second = Attune({"checkpoint", "counts"});
  ASSERT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("checkpoint 2 in "));
  const Json status = GetStatus();
  EXPECT_EQ(status.value(Json::json_pointer("/checkpoint/number"), 0), 2);
  EXPECT_GT(status.value(Json::json_pointer("/checkpoint/step"), 0), 0);
  EXPECT_EQ(status.value(Json::json_pointer("/checkpoint/rows"), 0), 4000) << status.dump(1);
  KillEverything();
  (void)run_->AwaitEnd();

  Start(1, 0, "", {"--resume", checkpoints()});
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
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
  const auto victims = ServersBut(0);
  ASSERT_FALSE(victims.empty());
  kill(victims[0], SIGKILL);
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
  const Outcome refused = run_->AwaitEnd(kPatience);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output, HasSubstr("00000001.counts.0.rows"));

  std::filesystem::copy_file(directory_ / "whole", file, std::filesystem::copy_options::overwrite_existing);
  Start(5, 0, "", {"--resume", checkpoints()});
  const Json result = AwaitResult();
  EXPECT_EQ(Metric(result, "counts_min"), kEpochs) << result.dump(1);
  EXPECT_EQ(Metric(result, "counts_max"), kEpochs) << result.dump(1);
}

}  // namespace
}  // namespace attune
