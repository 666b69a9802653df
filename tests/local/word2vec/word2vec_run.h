// A small text whose model is known, and the example that trains on it.
#pragma once

#include <gmock/gmock.h>
#include <signal.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "tests/local/cli/job_run.h"

namespace attune {

inline constexpr int kTopics = 8, kWordsPerTopic = 25, kLineWords = 12;
inline constexpr double kUntrainedLoss = 6 * 0.6931471805599453;  // log 2 for each pair and for each of its 5 negatives

class Word2vecRun : public JobRun {
 protected:
  void SetUp() override {
    JobRun::SetUp();
    WriteText();
  }

  // Lines whose words are of one topic each: neighbors of a word are words of its topic.
  void WriteText() const {
    std::filesystem::create_directory(directory_ / "text");
    std::ofstream text(directory_ / "text" / "topics.h");
    Random random(1);
    for (int line = 0; line < 20'000; ++line) {
      const char topic = static_cast<char>('a' + random.Below(kTopics));
      for (int i = 0; i < kLineWords; ++i) text << topic << random.Below(kWordsPerTopic) << ' ';
      text << '\n';
    }
  }

  struct Training {
    int seconds = 10;  // of training. In epochs, a fast machine would be done before a test has seen it begin.
    int servers = 2, workers = 2, backups = 0;
    std::string more_spec;                // YAML lines below spec:
    std::vector<std::string> more_words;  // of the command line
  };
  void StartTraining(const Training& training) {
    std::ostringstream manifest;
    manifest << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: topics}\nspec:\n"
             << "  goal: {epochs: 1000000, maxDurationSeconds: " << training.seconds
             << "}\n  servers: {replicas: " << training.servers << ", backups: " << training.backups << "}\n"
             << training.more_spec << "  workers:\n"
             << "    replicas: " << training.workers
             << "\n    max: 4\n    template:\n      spec:\n        containers:\n"
             << "        - {name: worker, image: none, command: [attune-word2vec],\n"
             << "           args: [--text=" << (directory_ / "text").string()
             << ", --chunk-words=512, --dim=16, --subsample=1, --neighbors=a1]}\n";
    StartRun("topics", manifest.str(), training.more_words);
  }

  bool AwaitWorkers(size_t count) {
    return AwaitStatus(std::to_string(count) + " workers", [&](const Json& status) {
      return status.value(Json::json_pointer("/workers/ready"), size_t{0}) == count &&
             Processes("attune-word2vec").size() == count;
    });
  }

  static double HeldOutLoss(const Json& result) { return Metric(result, "held_out_loss"); }
};

// Of a model that distinguishes the topics and no more. Of the pairs, a part is of different topics, across the ends of
// lines; of the 5 negatives of a pair, drawn from all words, one in kTopics is of its topic. The best score for a kind
// of pair says how many of those met are true.
inline double BestLoss() {
  const double mean_distance = 10.0 / 6;  // of the pairs within windows of 1 to 3 words
  const double different = mean_distance / kLineWords * (kTopics - 1) / kTopics;
  const auto part = [](double pairs, double negatives) {
    const double p = pairs / (pairs + negatives);
    return -pairs * std::log(p) - negatives * std::log(1 - p);
  };
  return part(1 - different, 5.0 / kTopics) + part(different, 5.0 * (kTopics - 1) / kTopics);
}

}  // namespace attune
