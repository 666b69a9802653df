// What ends well is a success, with real processes: never an exit code alone.
#include "tests/local/word2vec/word2vec_run.h"

namespace attune::closing_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClosingRun : public Word2vecRun {
 protected:
  // A job of one server and one worker whose container runs this shell script. $worker is the example with its
  // arguments.
  void StartScript(const std::string& script, int backoff_limit = 1, int epochs = 1) {
    const std::string worker = std::string(ATTUNE_WORD2VEC) + " --text=" + (directory_ / "text").string() +
                               " --chunk-words=512 --dim=16 --subsample=1";
    std::ofstream(directory_ / "worker.sh") << "worker='" << worker << "'\n"
                                            << "here=" << directory_.string() << "\n"
                                            << script << "\n";
    StartRun("topics",
             "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: topics}\nspec:\n"
             "  goal: {epochs: " +
                 std::to_string(epochs) + "}\n  runPolicy: {backoffLimit: " + std::to_string(backoff_limit) +
                 "}\n  servers: {replicas: 1}\n  workers:\n    replicas: 1\n    template:\n      spec:\n"
                 "        containers:\n        - {name: worker, image: none, command: [/bin/sh, " +
                 (directory_ / "worker.sh").string() + "]}\n");
  }
  // The end of a run that must not have ended well.
  std::string Failure() {
    const Outcome outcome = run_->AwaitEnd(kTimeout);
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, Not(HasSubstr("\"outcome\":\"Succeeded\"")));
    EXPECT_TRUE(Processes("").empty());
    return outcome.output;
  }
};

TEST_F(ClosingRun, AProgramThatTakesNoPartIsNoSuccess) {
  StartScript("exec true");
  EXPECT_THAT(Failure(), HasSubstr("exited with code 0 before the goal was reached, and has never joined the job"));
}

TEST_F(ClosingRun, AProcessThatEndsInTheMiddleOfTrainingWithZeroIsNoSuccess) {
  StartScript("$worker & sleep 3; exit 0", 0, 100'000);
  EXPECT_THAT(Failure(), HasSubstr("exited with code 0"));
}

// A directory lies where the vectors are to be saved.
TEST_F(ClosingRun, AModelThatCannotBeSavedIsNoSuccess) {
  StartScript("mkdir -p $ATTUNE_MODEL_DIRECTORY/vectors.txt/full; exec $worker");
  const std::string failure = Failure();
  EXPECT_THAT(failure, HasSubstr("the closing work was not done"));
  EXPECT_THAT(failure, HasSubstr("evaluate"));
  EXPECT_THAT(failure, HasSubstr("saving the vectors in the model directory"));
}

// Nothing is heard of this worker: it has no sidecar's socket. What its session left behind is enough.
TEST_F(ClosingRun, AProgramThatFailsAfterItsSessionHasEndedIsNoSuccess) {
  StartScript("env -u ATTUNE_SIDECAR_SOCKET " COUNTING_WORKER " 200 0; echo no space left; exit 3");
  const std::string failure = Failure();
  EXPECT_THAT(failure, HasSubstr("topics-worker-0 exited with code 3 after the goal was reached"));
  EXPECT_THAT(failure, HasSubstr("no space left"));
}

TEST_F(ClosingRun, WhatFailedOnceIsDoneByTheWorkerThatFollows) {
  StartScript(
      "if [ -e $here/second ]; then rm -r $ATTUNE_MODEL_DIRECTORY/vectors.txt\n"
      "else mkdir -p $ATTUNE_MODEL_DIRECTORY/vectors.txt/full; touch $here/second; fi\nexec $worker");
  const Json result = AwaitResult();
  EXPECT_TRUE(std::filesystem::is_regular_file(result.value(Json::json_pointer("/result/modelPath"), std::string())));
  EXPECT_EQ(result.value("reprocessedItems", -1), 0) << "training is not repeated";
}

TEST_F(ClosingRun, AStoppedServerIsNamedAndTheJobGoesOnWhenItIsBack) {
  StartTraining({.seconds = 600});
  ASSERT_TRUE(AwaitFraction(0.05));
  const pid_t server = ProcessOf("topics-server-1", "attune-server");
  ASSERT_NE(server, 0);
  ::kill(server, SIGSTOP);
  EXPECT_TRUE(AwaitStatus("the standstill is named", [](const Json& status) {
    const std::string text = status.dump();
    return text.find("no step ends: topics-server-1 is not heard of") != std::string::npos &&
           !status.value("progress", Json::object()).contains("remainingSeconds");
  }));
  ::kill(server, SIGCONT);
  EXPECT_TRUE(AwaitStatus("steps end again",
                          [](const Json& status) { return status.dump().find("\"StepsEnd\"") != std::string::npos; }));
}

}  // namespace
}  // namespace attune::closing_test
