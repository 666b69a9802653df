// A small text whose model is known, and `attune run` with real servers, workers, sidecars and controllers on it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/random.h"
#include "operator/kube/object.h"
#include "tests/local/cli/program.h"

namespace attune {

using kube::Json;

inline constexpr int kTopics = 8, kWordsPerTopic = 25, kLineWords = 12;
inline constexpr double kUntrainedLoss = 6 * 0.6931471805599453;  // log 2 for each pair and for each of its 5 negatives
inline constexpr std::chrono::seconds kPatience(120);             // with a whole run, on a busy machine

// A directory with a text, a manifest and the runs of a test; nothing of the user's own is touched.
class Word2vecRun : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune-word2vec-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    environment_ = {{"XDG_RUNTIME_DIR", pattern}, {"HOME", pattern}, {"KUBECONFIG", ""}};
    WriteText();
  }
  void TearDown() override {
    run_.reset();
    std::filesystem::remove_all(directory_);
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
    int epochs = 1, servers = 2, workers = 2, backups = 0;
    int seconds_max = 0;                  // longest training time; 0: epochs alone
    std::string more_spec;                // YAML lines below spec:
    std::vector<std::string> more_words;  // of the command line
  };
  void StartTraining(int epochs) { StartTraining(Training{.epochs = epochs}); }
  void StartTraining(const Training& training) {
    const std::string file = (directory_ / "job.yaml").string();
    std::ofstream(file) << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: topics}\nspec:\n"
                        << "  goal: {epochs: " << training.epochs
                        << (training.seconds_max > 0 ? ", maxDurationSeconds: " + std::to_string(training.seconds_max)
                                                     : "")
                        << "}\n  servers: {replicas: " << training.servers << ", backups: " << training.backups << "}\n"
                        << training.more_spec << "  workers:\n"
                        << "    replicas: " << training.workers << "\n    max: 4\n    template:\n      spec:\n        containers:\n"
                        << "        - {name: worker, image: none, command: [attune-word2vec],\n"
                        << "           args: [--text=" << (directory_ / "text").string()
                        << ", --chunk-words=512, --dim=16, --subsample=1, --neighbors=a1]}\n";
    std::vector<std::string> words{"run", file, "-o", "json"};
    words.insert(words.end(), training.more_words.begin(), training.more_words.end());
    run_ = std::make_unique<Program>(words, directory_, environment_);
  }

  Outcome Attune(const std::vector<std::string>& arguments) const {
    return Program(arguments, directory_, environment_).AwaitEnd();
  }

  // The job's status as `attune get` shows it; empty when there is none.
  Json GetStatus() const {
    const Json answer = Json::parse(Attune({"get", "topics", "-o", "json"}).output, nullptr, false);
    if (!answer.is_object()) return Json::object();
    const Json& job = answer.contains("items") && !answer["items"].empty() ? answer["items"][0] : answer;
    return job.value("status", Json::object());
  }

  // False, with a failure, when the run ends or time is up before the status is as wanted.
  bool AwaitStatus(const std::string& what, const std::function<bool(const Json&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Json status;
    while (std::chrono::steady_clock::now() < deadline) {
      status = GetStatus();
      if (wanted(status)) return true;
      if (run_->AwaitOutput("\"type\":\"result\"", std::chrono::seconds(1)))
        break;  // reads along: the pipe stays empty
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
  bool AwaitWorkers(size_t count) {
    return AwaitStatus(std::to_string(count) + " workers", [&](const Json& status) {
      return status.value(Json::json_pointer("/workers/ready"), size_t{0}) == count &&
             Processes("attune-word2vec").size() == count;
    });
  }

  // The last line of the run, which must have ended well and have left nothing behind.
  Json AwaitResult() {
    const Outcome outcome = run_->AwaitEnd(kPatience);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(Processes(""), testing::IsEmpty()) << "left behind";
    std::istringstream lines(outcome.output);
    Json result;
    for (std::string line; std::getline(lines, line);) {
      Json parsed = Json::parse(line, nullptr, false);
      if (parsed.is_object() && parsed.value("type", "") == "result") result = std::move(parsed);
    }
    EXPECT_EQ(result.value("outcome", ""), "Succeeded") << outcome.output;
    return result;
  }

  // Ids of processes that were started below this test, by what they execute; "": all.
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

  static double HeldOutLoss(const Json& result) {
    return result.value(Json::json_pointer("/result/metrics/held_out_loss"), std::nan(""));
  }

  std::filesystem::path directory_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<Program> run_;
};

// Of a model that tells the topics apart and no more. Of the pairs, a part is of different topics, across the ends of
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
