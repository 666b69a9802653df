// Held-out figures while a job trains, with real processes: a curve, and the end by it.
#include "tests/local/word2vec/word2vec_run.h"

#include <fstream>

namespace attune::metrics_test {
namespace {

using testing::HasSubstr;

class MetricsRun : public Word2vecRun {
 protected:
  void StartTopics(const std::string& goal, int workers, const std::string& checkpoint = "{}",
                   const std::string& name = "kept") {
    StartRun("topics",
             "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: topics}\nspec:\n  goal: {" + goal +
                 "}\n  checkpoint: " + checkpoint +
                 "\n  servers: {replicas: 2}\n  workers:\n    replicas: " + std::to_string(workers) +
                 "\n    template:\n      spec:\n        containers:\n"
                 "        - {name: worker, image: none, command: [attune-word2vec],\n           args: [--text=" +
                 (directory_ / "text").string() + ", --chunk-words=512, --dim=16, --subsample=1, --rate=" + rate_ +
                 "]}\n",
             {"--run-directory=" + (directory_ / name).string()});
  }
  std::string rate_ = "0.1";  // Adagrad's

  // Values of the held-out loss in the run's history, each once.
  std::vector<double> Curve() const {
    std::ifstream file(directory_ / "kept" / "history-topics.json");
    const Json history = Json::parse(file, nullptr, false);
    const Json fields = history.value("fields", Json::array());
    const auto column = static_cast<size_t>(std::find(fields.begin(), fields.end(), "metrics") - fields.begin());
    std::vector<double> curve;
    for (const Json& point : history.value("points", Json::array())) {
      const Json& metrics = point.at(column);
      if (!metrics.is_object() || !metrics.contains("held_out_loss")) continue;
      const double value = metrics["held_out_loss"];
      if (curve.empty() || curve.back() != value) curve.push_back(value);
    }
    return curve;
  }
};

// What is left to learn is soon less than the least that counts, long before the last epoch. The rate is so low that
// the first reports come before that.
TEST_F(MetricsRun, ACurveIsSeenAndTrainingEndsWhenItNoLongerImproves) {
  rate_ = "0.02";
  StartTopics(
      "epochs: 5000, evaluateEvery: {epochs: 2}, earlyStopping: {metric: held_out_loss, patience: 5, minDelta: 0.02}",
      2);
  const Json result = AwaitResult();
  const Json status =
      Json::parse(Attune({"get", "topics", "-o", "json"}).output, nullptr, false).value("status", Json());
  ASSERT_TRUE(status.contains("metrics")) << status;
  const Json metric = status["metrics"][0];
  EXPECT_EQ(metric["name"], "held_out_loss");
  EXPECT_GE(metric["reports"], 4);
  EXPECT_LT(metric["best"], kUntrainedLoss);
  EXPECT_LT(status["progress"]["epoch"], 4000);
  std::string succeeded;
  for (const Json& condition : status["conditions"]) {
    if (condition["type"] == "Succeeded") succeeded = condition["message"];
  }
  EXPECT_THAT(succeeded, HasSubstr("goal: held_out_loss no better for 5 reports at epoch "));
  EXPECT_TRUE(std::isfinite(HeldOutLoss(result))) << "the closing work was done";
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("held_out_loss"));
  const std::vector<double> curve = Curve();
  ASSERT_GE(curve.size(), 2U) << "a curve has more than one value";
  EXPECT_LT(*std::min_element(curve.begin(), curve.end()), curve.front());
}

// The loss falls, so the highest one soon lies behind, and every later checkpoint is worse by it. Reports are seconds
// apart, so that a checkpoint is written between the highest and the next.
TEST_F(MetricsRun, TheBestCheckpointIsKeptBesideNewerOnesAndARunContinuesFromIt) {
  const std::string checkpoints = (directory_ / "checkpoints").string();
  StartTopics("epochs: 100000, evaluateEvery: {steps: 10000}", 2,
              "{directory: " + checkpoints +
                  ", keep: 1, intervalSeconds: 1, best: {metric: held_out_loss, direction: Maximize}}");
  const auto number = [](const Json& status, const char* which) {
    return status.value(Json::json_pointer(std::string("/") + which + "/number"), 0);
  };
  const Json::json_pointer value("/bestCheckpoint/value"), reported("/metrics/0/best");
  Json status;
  ASSERT_TRUE(AwaitStatus("three checkpoints after that of the best report", [&](const Json& now) {
    status = now;
    const int best = number(now, "bestCheckpoint");
    return best > 0 && number(now, "checkpoint") >= best + 3 && now.value(value, 0.0) == now.value(reported, 1.0);
  }));
  const int best = number(status, "bestCheckpoint");
  EXPECT_EQ(status["bestCheckpoint"]["metric"], "held_out_loss");
  EXPECT_EQ(status["bestCheckpoint"]["directory"], checkpoints);
  const auto manifest = [&](int of) {
    const std::string digits = std::to_string(of);
    return std::filesystem::path(checkpoints) / (std::string(8 - digits.size(), '0') + digits + ".manifest.json");
  };
  EXPECT_FALSE(std::filesystem::exists(manifest(best + 1))) << "keep: 1";
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr(" in " + checkpoints + ", held_out_loss "));
  EXPECT_EQ(Attune({"stop", "topics", "--no-checkpoint"}).code, 0);
  (void)run_->AwaitEnd(kTimeout);
  EXPECT_THAT(Attune({"inspect", checkpoints}).output, HasSubstr("whole, best by held_out_loss "));
  const Outcome exported = Attune(
      {"export", checkpoints, "--best", "--format", "npz", "--to", (directory_ / "best.npz").string(), "-o", "json"});
  EXPECT_EQ(exported.code, 0) << exported.output;
  const int exported_number = Json::parse(exported.output, nullptr, false).value("checkpoint", 0);
  EXPECT_GE(exported_number, best);
  EXPECT_TRUE(std::filesystem::exists(manifest(exported_number)));

  run_ = JobRun::Start({"resume", (directory_ / "kept").string(), "--best", "--name", "again", "-o", "json"});
  Json resumed;
  ASSERT_TRUE(AwaitStatus("what the resumed job knows", [&](const Json& now) {
    resumed = now;
    return now.contains("bestCheckpoint") && now.contains("metrics");
  }));
  EXPECT_GE(resumed.value(value, 0.0), status.value(value, 1.0)) << "it knows what it is to be better than";
  EXPECT_GE(resumed.value(reported, 0.0), status.value(reported, 1.0));
  const Json job = Json::parse(Attune({"get", "topics", "-o", "json"}).output, nullptr, false);
  EXPECT_EQ(job.value(Json::json_pointer("/spec/checkpoint/resumeAt"), ""), "Best");
  EXPECT_EQ(Attune({"stop", "topics", "--no-checkpoint"}).code, 0);
  (void)run_->AwaitEnd(kTimeout);
}

TEST_F(MetricsRun, TrainingEndsWhenAFigureIsGoodEnough) {
  StartTopics("epochs: 5000, evaluateEvery: {steps: 200}, targetMetric: {name: held_out_loss, value: 3.5}", 1,
              "{best: {metric: held_out_loss}}");
  (void)AwaitResult();
  const Json job = Json::parse(Attune({"get", "topics", "-o", "json"}).output, nullptr, false);
  const double best = job.value(Json::json_pointer("/status/bestCheckpoint/value"), 1e9);
  EXPECT_LE(best, 3.5) << "of the value that has reached the goal: " << job.dump(1);
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("goal: held_out_loss <= 3.5 at "));
}

}  // namespace
}  // namespace attune::metrics_test
