// The example as a user runs it: undisturbed, scaled while it trains, and with a worker killed.
#include "tests/local/word2vec/word2vec_run.h"

namespace attune::word2vec_test {
namespace {

using testing::HasSubstr;

TEST_F(Word2vecRun, UndisturbedItLearnsTheTopicsAndWritesTheVectors) {
  StartTraining({});
  ASSERT_TRUE(AwaitFraction(0));
  EXPECT_EQ(Processes("attune-word2vec").size(), 2U);
  EXPECT_EQ(Processes("attune-server").size(), 2U);
  EXPECT_EQ(Processes("attune-sidecar").size(), 4U);
  const Json result = AwaitResult();
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
  EXPECT_LT(HeldOutLoss(result), kUntrainedLoss / 2);
  EXPECT_NEAR(HeldOutLoss(result), BestLoss(), 0.05);
  EXPECT_THAT(result.value(Json::json_pointer("/result/summary"), ""), HasSubstr("a1: a"));

  std::ifstream vectors(result.value(Json::json_pointer("/result/modelPath"), ""));
  size_t words = 0, dim = 0;
  ASSERT_TRUE(vectors >> words >> dim);
  EXPECT_EQ(words, static_cast<size_t>(kTopics * kWordsPerTopic));
  EXPECT_EQ(dim, 16U);
  std::string word;
  for (size_t i = 0; i < words; ++i) {
    ASSERT_TRUE(vectors >> word) << "word " << i;
    float value = 0;
    for (size_t d = 0; d < dim; ++d) ASSERT_TRUE(vectors >> value) << word << " value " << d;
  }
  EXPECT_FALSE(vectors >> word) << "nothing follows";
}

TEST_F(Word2vecRun, ScaledUpAndDownItLosesAndRepeatsNothing) {
  StartTraining({.seconds = 20});
  ASSERT_TRUE(AwaitFraction(0));
  ASSERT_EQ(Attune({"scale", "topics", "workers=4"}).code, 0);
  ASSERT_TRUE(AwaitWorkers(4));
  ASSERT_EQ(Attune({"scale", "topics", "workers=1"}).code, 0);
  ASSERT_TRUE(AwaitWorkers(1));
  EXPECT_LT(GetStatus().value(Json::json_pointer("/progress/fraction"), 1.0), 1) << "it trains on";
  const Json result = AwaitResult();
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
  EXPECT_NEAR(HeldOutLoss(result), BestLoss(), 0.05);
}

TEST_F(Word2vecRun, AKilledWorkerIsReplacedAndItsUnfinishedItemsAreDoneAgain) {
  StartTraining({.seconds = 15});
  ASSERT_TRUE(AwaitFraction(0.1));
  const std::vector<pid_t> workers = Processes("attune-word2vec");
  ASSERT_EQ(workers.size(), 2U);
  ASSERT_EQ(kill(workers[0], SIGKILL), 0);
  ASSERT_TRUE(AwaitStatus("a replacement", [&](const Json&) {
    const std::vector<pid_t> now = Processes("attune-word2vec");
    return now.size() == 2 && !testing::Value(now, testing::Contains(workers[0]));
  }));
  const Json result = AwaitResult();
  EXPECT_GT(result.value("reprocessedItems", 0), 0);
  EXPECT_NEAR(HeldOutLoss(result), BestLoss(), 0.05);
}

TEST_F(Word2vecRun, ThePaceIsSwitchedWhileItTrainsAndWhatCannotBeIsRefused) {
  StartTraining({.seconds = 15});
  ASSERT_TRUE(AwaitStatus("abilities", [](const Json& status) { return status.contains("abilities"); }));
  const Outcome bsp = Attune({"sync", "topics", "bsp"});
  EXPECT_EQ(bsp.code, 0);
  EXPECT_THAT(bsp.output, HasSubstr("topics: Async -> BSP"));
  EXPECT_EQ(GetStatus().value(Json::json_pointer("/synchronization/mode"), ""), "BSP");
  EXPECT_THAT(Attune({"sync", "topics", "ssp:2"}).output, HasSubstr("topics: BSP -> SSP(2)"));
  EXPECT_THAT(Attune({"describe", "topics"}).output, HasSubstr("SynchronizationSwitched"));
  const Json abilities = GetStatus()["abilities"];
  if (!abilities.value("elasticServers", true)) {
    const Outcome scale = Attune({"scale", "topics", "servers=3"});
    EXPECT_EQ(scale.code, 1);
    EXPECT_THAT(scale.output, HasSubstr("cannot join or leave a running job"));
  }
  if (!abilities.value("checkpoints", true)) {
    const Outcome checkpoint = Attune({"checkpoint", "topics"});
    EXPECT_EQ(checkpoint.code, 1);
    EXPECT_THAT(checkpoint.output, HasSubstr("cannot write checkpoints while it runs"));
  }
  EXPECT_THAT(Attune({"sync", "topics", "async"}).output, HasSubstr("topics: SSP(2) -> Async"));
  const Json result = AwaitResult();
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
  EXPECT_TRUE(result.contains("rate") && result.contains("loss")) << "a summary is complete: " << result.dump();
  EXPECT_NEAR(HeldOutLoss(result), BestLoss(), 0.05);
}

}  // namespace
}  // namespace attune::word2vec_test
