#include "cli/runs/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cli::run_record_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunRecord Sample() {
  RunRecord record;
  record.name = "fast";
  record.tags = {"a", "b"};
  RunJob job;
  job.name = "word2vec";
  job.name_space = "default";
  job.outcome = RunOutcome::kInterrupted;
  job.fraction = 0.4;
  job.loss = 2.5;
  job.rate = 100'000;
  job.sample_unit = "words";
  job.synchronization = "BSP";
  job.servers = 2;
  job.workers = 3;
  job.threads = 2;
  job.results = {{"held_out_loss", 1.5}};
  job.checkpoint = "/r/claims/model/checkpoints";
  job.checkpoint_number = 7;
  job.checkpoint_step = 412;
  record.jobs = {job};
  record.outcome = RunOutcome::kInterrupted;
  record.started = 1'800'000'000;
  record.ended = 1'800'000'060;
  record.process_id = 4711;
  record.process_start = "123";
  record.arguments = {"run", "job.yaml"};
  record.working_directory = "/w";
  record.manifest = "job.yaml";
  record.manifest_digest = "0123456789abcdef";
  record.tune = "auto";
  record.cores = "0.5";
  record.name_space = "default";
  record.resumed_from = "slow";
  record.version = "1.0";
  record.machine = {"host", "Linux 6", "A processor", 8, 1 << 30};
  record.seed = -7;
  return record;
}

TEST(RunRecord, ComesBackFromItsFile) {
  const RunRecord record = Sample();
  const auto loaded = LoadRecord(SaveRecord(record));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(SaveRecord(*loaded), SaveRecord(record));
  EXPECT_EQ(loaded->jobs.front().checkpoint_step, 412U);
  EXPECT_EQ(loaded->started, record.started);
  EXPECT_THAT(SaveRecord(record), HasSubstr("\"ended\": \"2027-01-15T08:01:00.000Z\"")) << "times as everywhere else";
  EXPECT_EQ(loaded->seed, -7);
  EXPECT_EQ(loaded->outcome, RunOutcome::kInterrupted);
}

TEST(RunRecord, SaysWhatTheRunWasMadeFrom) {
  using Fact = std::pair<std::string, std::string>;
  RunRecord record = Sample();
  record.tags = {"wide"};
  EXPECT_THAT(AboutRun(record), ElementsAre(Fact("run", record.name), Fact("tags", "wide"),
                                            Fact("manifest", "job.yaml (SHA-256 0123456789ab\u2026)"),
                                            Fact("command", "attune run job.yaml"), Fact("continued from", "slow"),
                                            Fact("seed", "-7"), Fact("version", "attune 1.0"),
                                            Fact("machine", "host, 8 cores, A processor, 1.00 GiB, Linux 6")));
  EXPECT_TRUE(AboutRun(RunRecord{}).empty()) << "of an older attune";
}

TEST(RunRecord, OtherFilesAreRefusedAndOddOnesReadAsFarAsTheyGo) {
  for (const char* text : {"", "[]", "{}", "{\"format\":2,\"name\":\"a\"}", "{\"format\":1}", "not json"})
    EXPECT_EQ(LoadRecord(text).status().code(), StatusCode::kInvalidArgument) << text;
  const auto odd =
      LoadRecord(R"({"format":1,"name":"a","tags":[1,"x"],"jobs":[7,{"name":"j","loss":"low","servers":-3}],
                                  "outcome":"Great","machine":3,"processId":1e300,"seed":"7"})");
  ASSERT_TRUE(odd.ok());
  EXPECT_THAT(odd->tags, ElementsAre("x"));
  ASSERT_EQ(odd->jobs.size(), 1U);
  EXPECT_FALSE(odd->jobs.front().loss);
  EXPECT_EQ(odd->jobs.front().servers, 0);
  EXPECT_EQ(odd->outcome, RunOutcome::kLost) << "never a success that the file does not state";
  EXPECT_FALSE(odd->seed);
}

TEST(RunRecord, AViewLeavesTheLastFiguresOfARunThatEnds) {
  RunJob job;
  JobView view;
  view.fraction = 0.5;
  view.loss = 2;
  view.rate = 1000;
  view.servers_ready = 2;
  view.workers_ready = 4;
  view.synchronization = "BSP";
  view.checkpoint = "/c";
  view.checkpoint_number = 3;
  UpdateRunJob(view, job);
  EXPECT_EQ(job.outcome, RunOutcome::kRunning);
  JobView ended;
  ended.outcome = JobView::Outcome::kSucceeded;
  ended.loss = 1.5;
  ended.result = api::JobResult{{{"held_out_loss", 1.25}}, "", ""};
  UpdateRunJob(ended, job);
  EXPECT_EQ(job.outcome, RunOutcome::kSucceeded);
  EXPECT_EQ(job.loss, 1.5);
  EXPECT_EQ(job.rate, 1000);
  EXPECT_EQ(job.workers, 4) << "pods that leave at the end are no setting";
  EXPECT_EQ(job.synchronization, "BSP");
  EXPECT_EQ(job.checkpoint_number, 3U);
  ASSERT_EQ(job.results.size(), 1U);
}

TEST(RunRecord, TheOutcomeOfSeveralJobsIsTheWorst) {
  const auto of = [](std::initializer_list<RunOutcome> outcomes) {
    std::vector<RunJob> jobs;
    for (const RunOutcome outcome : outcomes) jobs.emplace_back().outcome = outcome;
    return OutcomeOf(jobs);
  };
  EXPECT_EQ(of({RunOutcome::kSucceeded, RunOutcome::kSucceeded}), RunOutcome::kSucceeded);
  EXPECT_EQ(of({RunOutcome::kSucceeded, RunOutcome::kStopped}), RunOutcome::kStopped);
  EXPECT_EQ(of({RunOutcome::kStopped, RunOutcome::kFailed}), RunOutcome::kFailed);
  EXPECT_EQ(of({RunOutcome::kFailed, RunOutcome::kRunning}), RunOutcome::kRunning);
}

TEST(RunRecord, TheSeedIsFoundWhereProgramsAreGivenIt) {
  const auto seed = [](const std::string& container) {
    return SeedOf(
        kube::Json::parse(R"({"spec":{"workers":{"template":{"spec":{"containers":[)" + container + R"(]}}}}})"));
  };
  EXPECT_EQ(seed(R"({"args":["--dim=4","--seed=7"]})"), 7);
  EXPECT_EQ(seed(R"({"command":["train","--seed","8"]})"), 8);
  EXPECT_EQ(seed(R"({"env":[{"name":"SEED","value":"9"}]})"), 9);
  EXPECT_EQ(seed(R"({"args":["--seeds=7","--seed=many","--seedling"]})"), std::nullopt);
  EXPECT_EQ(SeedOf(kube::Json::object()), std::nullopt);
}

TEST(RunRecord, NamesAreFitForDirectoriesAndCommandLines) {
  for (const char* name : {"a", "word2vec-1", "2026.11_b"}) EXPECT_EQ(ProblemOfRunName(name), "") << name;
  for (const std::string& name : {std::string(), std::string("-a"), std::string(".."), std::string("a/b"),
                                  std::string("a b"), std::string(64, 'a')})
    EXPECT_THAT(ProblemOfRunName(name), HasSubstr("letters, digits")) << name;
}

}  // namespace
}  // namespace attune::cli::run_record_test
