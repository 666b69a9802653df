// Held-out figures while a job trains, with real processes: a curve, and the end by it.
#include "tests/local/word2vec/word2vec_run.h"

#include <fstream>

namespace attune {
namespace {

using testing::HasSubstr;

class MetricsRun : public Word2vecRun {
 protected:
  void StartTopics(const std::string& goal, int workers) {
    StartRun("topics",
             "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: topics}\nspec:\n  goal: {" + goal +
                 "}\n  servers: {replicas: 2}\n  workers:\n    replicas: " + std::to_string(workers) +
                 "\n    template:\n      spec:\n        containers:\n"
                 "        - {name: worker, image: none, command: [attune-word2vec],\n           args: [--text=" +
                 (directory_ / "text").string() + ", --chunk-words=512, --dim=16, --subsample=1]}\n",
             {"--run-directory=" + (directory_ / "kept").string()});
  }
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

// What is left to learn is soon less than the least that counts, long before the last epoch.
TEST_F(MetricsRun, ACurveIsSeenAndTrainingEndsWhenItNoLongerImproves) {
  StartTopics(
      "epochs: 5000, evaluateEvery: {epochs: 10}, earlyStopping: {metric: held_out_loss, patience: 5, minDelta: 0.02}",
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

TEST_F(MetricsRun, TrainingEndsWhenAFigureIsGoodEnough) {
  StartTopics("epochs: 5000, evaluateEvery: {steps: 200}, targetMetric: {name: held_out_loss, value: 3.5}", 1);
  (void)AwaitResult();
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("goal: held_out_loss <= 3.5 at "));
}

}  // namespace
}  // namespace attune
