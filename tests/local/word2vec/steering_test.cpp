// What a user does to a running job, and what happens to it: servers that come, go and are lost, the coordinator's end,
// checkpoints, the tuner, the report. What the servers of this build cannot do is left out, with that reason.
#include "tests/local/word2vec/word2vec_run.h"

namespace attune::steering_test {
namespace {

using testing::HasSubstr;

class SteeredRun : public Word2vecRun {
 protected:
  // The abilities that are missing; "" when all are there. Waits until the coordinator has said.
  std::string Missing(const std::vector<std::string>& abilities) {
    if (!AwaitStatus("abilities", [](const Json& status) { return status.contains("abilities"); })) return "all";
    const Json can = GetStatus()["abilities"];
    std::string missing;
    for (const std::string& ability : abilities) {
      if (!can.value(ability, false)) missing += (missing.empty() ? "" : ", ") + ability;
    }
    return missing;
  }
  bool AwaitTrainingOn() {
    const double before = GetStatus().value(Json::json_pointer("/progress/fraction"), 0.0);
    return AwaitFraction(std::min(before + 0.02, 0.99));
  }
  std::string Read(const std::filesystem::path& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
};

TEST_F(SteeredRun, TheReportShowsTheCurvesAndWhatHappened) {
  StartTraining({.seconds = 15, .more_words = {"--report", (directory_ / "report.html").string()}});
  ASSERT_TRUE(AwaitFraction(0.1));
  ASSERT_EQ(Attune({"scale", "topics", "workers=3"}).code, 0);
  ASSERT_TRUE(AwaitWorkers(3));
  AwaitResult();
  const std::string page = Read(directory_ / "report.html");
  EXPECT_THAT(page, HasSubstr("Training loss"));
  EXPECT_THAT(page, HasSubstr("<polyline"));
  EXPECT_THAT(page, HasSubstr("Created 1 worker pod (3 wanted)"));
  const Outcome again = Attune({"report", (directory_ / "attune-runs").string(), "-o", "x.html"});
  EXPECT_NE(again.code, 0) << "the directory of all runs holds no history itself";
}

TEST_F(SteeredRun, TopShowsWhatEveryPodUsesFromTheirSidecarsPages) {
  StartTraining({.seconds = 600});
  // Of the job and of every pod: the windows of one come before those of the others.
  const auto is_whole = [](const Json& top) {
    const Json pods = top.value("pods", Json::array());
    return top.value("rate", 0.0) > 0 && pods.size() == 4 && std::ranges::all_of(pods, [](const Json& pod) {
             return pod.value("memoryBytes", 0) > 1 << 20 && pod.value("cpuCores", -1.0) >= 0 &&
                    pod.value("throttled", -1.0) >= 0 &&
                    pod.contains(pod.value("role", "") == "worker" ? "rate" : "rows");
           });
  };
  Outcome outcome;
  EXPECT_TRUE(AwaitStatus("what every pod uses", [&](const Json&) {
    outcome = Attune({"top", "topics", "--once", "-o", "json"});
    const Json top = Json::parse(outcome.output, nullptr, false);
    return outcome.code == 0 && top.is_object() && !top.contains("problem") && is_whole(top);
  })) << outcome.output;
  EXPECT_THAT(Attune({"top", "--once"}).output, HasSubstr("topics"));
}

TEST_F(SteeredRun, ALostServerIsReplacedAndNothingIsLost) {
  StartTraining({.seconds = 25, .backups = 1});
  ASSERT_EQ(Missing({"elasticServers", "serverRecovery"}), "") << "this release\'s servers can all of it";
  ASSERT_TRUE(AwaitFraction(0.05));
  const pid_t victim = ProcessOf("topics-server-1", "attune-server");
  ASSERT_NE(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_TRUE(AwaitStatus(
      "the recovery", [](const Json& status) { return status.value(Json::json_pointer("/recovery/count"), 0) >= 1; }));
  EXPECT_EQ(GetStatus().value(Json::json_pointer("/recovery/restoredRows"), -1), 0);
  ASSERT_TRUE(AwaitStatus("another server", [&](const Json&) {
    const pid_t now = ProcessOf("topics-server-1", "attune-server");
    return now != 0 && now != victim;
  }));
  EXPECT_TRUE(AwaitTrainingOn());
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("ServerFailed"));
  EXPECT_NEAR(HeldOutLoss(AwaitResult()), BestLoss(), 0.05);
}

TEST_F(SteeredRun, TheCoordinatorsServerIsLostAndAnotherTakesOver) {
  StartTraining({.seconds = 25, .backups = 1});
  ASSERT_EQ(Missing({"elasticServers", "serverRecovery", "coordinatorFailover"}), "")
      << "this release\'s servers can all of it";
  ASSERT_TRUE(AwaitFraction(0.05));
  const pid_t victim = ProcessOf("topics-server-0", "attune-server");
  ASSERT_NE(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_TRUE(AwaitStatus("another coordinator", [](const Json& status) {
    return status.value("coordinator", "") == "topics-server-1" && status.value("coordinatorTerm", 0) >= 1;
  }));
  EXPECT_TRUE(AwaitTrainingOn());
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("CoordinatorAppointed"));
  EXPECT_NEAR(HeldOutLoss(AwaitResult()), BestLoss(), 0.05);
}

TEST_F(SteeredRun, ACheckpointIsResumedByAnotherNumberOfServers) {
  const std::string checkpoints = (directory_ / "checkpoints").string();
  StartTraining({.seconds = 20, .more_spec = "  checkpoint: {directory: " + checkpoints + "}\n"});
  ASSERT_EQ(Missing({"checkpoints"}), "") << "this release\'s servers can all of it";
  ASSERT_TRUE(AwaitFraction(0.3));
  const Outcome written = Attune({"checkpoint", "topics"});
  ASSERT_EQ(written.code, 0) << written.output;
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("CheckpointWritten"));
  run_->Signal(SIGINT);
  run_->AwaitEnd(kTimeout);
  // Longer than the first one, however late that was interrupted.
  StartTraining({.seconds = 30, .servers = 3, .more_words = {"--resume", checkpoints}});
  ASSERT_TRUE(AwaitFraction(0));
  EXPECT_GT(GetStatus().value(Json::json_pointer("/progress/fraction"), 0.0), 0.3 * 20 / 30) << "it continues there";
  EXPECT_NEAR(HeldOutLoss(AwaitResult()), BestLoss(), 0.05);
}

TEST_F(SteeredRun, TheTunerTriesAnotherSettingTellsItAndTheJobSucceeds) {
  StartTraining({.seconds = 50,
                 .servers = 1,
                 .workers = 1,
                 .more_spec = "  tuning: {windowSeconds: 2, servers: {max: 3}, workers: {max: 4}}\n",
                 .more_words = {"--tune", "auto"}});
  ASSERT_TRUE(AwaitStatus("a change by the tuner", [](const Json& status) {
    return status.value(Json::json_pointer("/tuning/changes"), 0) >= 1;
  }));
  EXPECT_THAT(Attune({"explain", "topics"}).output, HasSubstr("tuning Auto"));
  EXPECT_EQ(Attune({"explain", "topics", "--model", "-o", "json"}).code, 0);
  const Outcome paused = Attune({"tune", "pause", "topics"});
  EXPECT_EQ(paused.code, 0) << paused.output;
  ASSERT_TRUE(AwaitStatus(
      "a pause", [](const Json& status) { return status.value(Json::json_pointer("/tuning/stage"), "") == "Paused"; }));
  EXPECT_EQ(Attune({"tune", "resume", "topics"}).code, 0);
  EXPECT_LT(HeldOutLoss(AwaitResult()), kUntrainedLoss / 2);
}

TEST_F(SteeredRun, ARecommendationTouchesNothing) {
  StartTraining({.seconds = 90, .more_spec = "  tuning: {mode: Recommend, windowSeconds: 2}\n"});
  ASSERT_TRUE(AwaitStatus("a recommendation", [](const Json& status) {
    return status.contains(Json::json_pointer("/tuning/recommendedWorkers"));
  }));
  EXPECT_EQ(Processes("attune-word2vec").size(), 2U);
  EXPECT_EQ(Processes("attune-server").size(), 2U);
  run_->Signal(SIGINT);
  run_->AwaitEnd(kTimeout);
}

}  // namespace
}  // namespace attune::steering_test
