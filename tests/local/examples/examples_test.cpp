// The example programs on small inputs: they learn what is there, whatever is done to the job meanwhile, and their
// models can be read afterwards.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "base/random.h"
#include "tests/examples/header-words/two_kinds.h"
#include "tests/examples/package-graph/small_lists.h"
#include "tests/local/cli/job_run.h"

namespace attune::examples_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class ExampleRun : public JobRun {
 protected:
  // A job of 2 servers and 2 workers that run `program`, which must lie beside attune, with this goal and `more` of the
  // spec. A goal in seconds leaves time for what is done to the job on any machine.
  void Start(const std::string& program, const std::vector<std::string>& arguments, const std::string& goal,
             const std::string& more = "") {
    std::ostringstream manifest;
    manifest << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: small}\nspec:\n"
             << "  goal: {" << goal << "}\n  servers: {replicas: 2}\n  workers:\n"
             << "    replicas: 2\n    max: 4\n    template:\n      spec:\n        containers:\n"
             << "        - {name: worker, image: none, command: [" << program << "], args: " << Json(arguments).dump()
             << "}\n"
             << more;
    StartRun("small", manifest.str());
  }
  // A directory of text: of four characters one is a toss, which only a model that looks three back can distinguish
  // from the others.
  std::string WriteTosses() const {
    std::filesystem::create_directory(directory_ / "text");
    Random random(1);
    std::string text;
    while (text.size() < 200'000) text += random.Chance(0.5) ? "a 1\n" : "b 2\n";
    std::ofstream(directory_ / "text" / "tosses.h") << text;
    return (directory_ / "text").string();
  }
};

TEST_F(ExampleRun, APackageGraphIsLearnedWhileServersAndWorkersComeAndGo) {
  std::ofstream(directory_ / "small_Packages") << package_graph::SmallList(400);
  Start("attune-package-graph",
        {"--lists=" + (directory_ / "small_Packages").string(), "--min-links=2", "--held-out=10", "--batch-links=64",
         "--negatives=64", "--dim=16", "--packages=program3", "--save-tables"},
        "maxDurationSeconds: 20");
  ASSERT_TRUE(AwaitReady("workers", 2));
  ASSERT_EQ(Attune({"scale", "small", "workers=3", "servers=3"}).code, 0);
  ASSERT_TRUE(AwaitReady("workers", 3));
  EXPECT_THAT(Attune({"sync", "small", "bsp"}).output, HasSubstr("Async -> BSP"));
  ASSERT_EQ(Attune({"scale", "small", "workers=1", "servers=1"}).code, 0);
  ASSERT_TRUE(AwaitReady("workers", 1));
  const Json result = AwaitResult();
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
  EXPECT_GT(Metric(result, "mrr"), 0.4);
  EXPECT_GT(Metric(result, "mrr"), 2 * Metric(result, "popularity_mrr"));
  EXPECT_THAT(result.value(Json::json_pointer("/result/summary"), ""), HasSubstr("program3 recommends: tool3-"));

  const std::string model = result.value(Json::json_pointer("/result/modelPath"), "");
  EXPECT_THAT(Attune({"inspect", model, "--verify"}).output,
              testing::AllOf(HasSubstr("entity"), HasSubstr("relation")));
  EXPECT_EQ(Attune({"export", model, "--format", "npz", "--to", (directory_ / "model.npz").string()}).code, 0);
  EXPECT_GT(std::filesystem::file_size(directory_ / "model.npz"), 400 * 16 * sizeof(float));
}

TEST_F(ExampleRun, HeadersAreLearnedFromAnnouncedRowsWhileServersAndWorkersComeAndGo) {
  const header_words::TwoKinds text;
  Start("attune-header-words",
        {"--text=" + text.path().string(), "--min-headers=2", "--min-identifiers=2", "--headers=1", "--dim=4",
         "--announce", "--shown=string/h1.h", "--save-tables"},
        "maxDurationSeconds: 25", "  rowManagement: Always\n");
  ASSERT_TRUE(AwaitReady("workers", 2));
  ASSERT_EQ(Attune({"scale", "small", "workers=3", "servers=3"}).code, 0);
  ASSERT_TRUE(AwaitReady("workers", 3));
  ASSERT_EQ(Attune({"scale", "small", "workers=1", "servers=1"}).code, 0);
  ASSERT_TRUE(AwaitReady("workers", 1));
  const Json result = AwaitResult();
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
  EXPECT_LT(Metric(result, "held_out_error"), 0.9 * Metric(result, "additive_error"));
  EXPECT_THAT(result.value(Json::json_pointer("/result/summary"), ""), HasSubstr("of its kind: string/"));
  const std::string model = result.value(Json::json_pointer("/result/modelPath"), "");
  EXPECT_THAT(Attune({"inspect", model, "--verify"}).output, AllOf(HasSubstr("header"), HasSubstr("identifier")));
}

TEST_F(ExampleRun, ADenseNetworkLearnsWhileItsPaceIsSwitched) {
  Start("attune-next-character",
        {"--text=" + WriteTosses(), "--context=6", "--embedding=4", "--hidden1=24", "--hidden2=16", "--batch=64",
         "--epoch-batches=500", "--rate=0.005", "--save-tables"},
        "maxDurationSeconds: 20");
  ASSERT_TRUE(AwaitReady("workers", 2));
  EXPECT_THAT(Attune({"sync", "small", "ssp:2"}).output, HasSubstr("Async -> SSP(2)"));
  ASSERT_EQ(Attune({"scale", "small", "servers=3"}).code, 0);
  ASSERT_TRUE(AwaitReady("servers", 3));
  EXPECT_THAT(Attune({"sync", "small", "async"}).output, HasSubstr("SSP(2) -> Async"));
  const Json result = AwaitResult();
  EXPECT_EQ(result.value("reprocessedItems", -1), 0);
  EXPECT_NEAR(Metric(result, "bigram_bits"), 0.5, 0.02);
  EXPECT_NEAR(Metric(result, "held_out_bits"), 0.25, 0.03);
  EXPECT_THAT(result.value(Json::json_pointer("/result/summary"), ""), HasSubstr("a 1\n"));
  const std::string model = result.value(Json::json_pointer("/result/modelPath"), "");
  const Outcome inspected = Attune({"inspect", model, "--verify"});
  for (const char* table : {"embedding", "hidden1", "hidden2", "output"}) {
    EXPECT_THAT(inspected.output, HasSubstr(table));
  }
}

TEST_F(ExampleRun, OnlyWhatNeedsNoOtherPodsIsTurnedAndTheWorkersObey) {
  Start("attune-next-character",
        {"--text=" + WriteTosses(), "--context=6", "--embedding=4", "--hidden1=64", "--hidden2=64", "--batch=512",
         "--epoch-batches=1000", "--worker-threads-max=4", "--judged-characters=2000"},
        "maxDurationSeconds: 70", "  tuning: {mode: InPlaceOnly, windowSeconds: 2, threads: {max: 4}}\n");
  // Tried by the tuner itself, and in force: what it waits for before it measures is what the workers say.
  ASSERT_TRUE(AwaitStatus("another number of threads is tried", [](const Json& status) {
    return status.value(Json::json_pointer("/tuning/threads"), 1) > 1 &&
           status.value(Json::json_pointer("/tuning/stage"), "") == "Trying";
  }));
  EXPECT_EQ(GetStatus().value(Json::json_pointer("/tuning/servers"), 0), 2);
  EXPECT_EQ(GetStatus().value(Json::json_pointer("/tuning/workers"), 0), 2);
  ASSERT_TRUE(AwaitStatus("it is judged", [](const Json& status) {
    return status.value(Json::json_pointer("/tuning/changes"), 0) > 0 &&
           status.value(Json::json_pointer("/tuning/stage"), "") == "Keeping";
  }));
  EXPECT_THAT(Attune({"explain", "small"}).output,
              AllOf(HasSubstr("tuning InPlaceOnly"), HasSubstr("threads="), ContainsRegex("[1-4] threads? each")));
  // By hand; the tuner leaves what is pinned and continues with the rest.
  ASSERT_EQ(Attune({"tune", "pin", "slack=bsp", "small"}).code, 0);
  ASSERT_TRUE(AwaitStatus("what is pinned is in force", [](const Json& status) {
    return status.value(Json::json_pointer("/tuning/slack"), -1) == 0 &&
           status.value(Json::json_pointer("/synchronization/mode"), "") == "BSP";
  }));
  EXPECT_GT(AwaitResult().value("fraction", 0.0), 0.99);
}

}  // namespace
}  // namespace attune::examples_test
