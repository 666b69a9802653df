#include "cli/report/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/compare_page.h"
#include "tests/cli/golden.h"

namespace attune::cli::run_comparison_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kStart = 1'800'000'000;  // 2027-01-15T08:00:00Z

ComparedRun Sample(const std::string& name, double started, double loss, double rate, int workers) {
  ComparedRun run;
  run.record.name = name;
  run.record.directory = "/work/attune-runs/" + name;
  run.record.outcome = RunOutcome::kSucceeded;
  run.record.started = started;
  run.record.ended = started + 120;
  run.record.arguments = {"run", "job.yaml"};
  run.record.manifest = "job.yaml";
  run.record.working_directory = "/work";
  run.record.version = "1.0";
  run.record.machine = {"host", "Linux 6", "A processor", 2, 8ULL << 30};
  RunJob job;
  job.name = "word2vec";
  job.outcome = RunOutcome::kSucceeded;
  job.loss = loss;
  job.rate = rate;
  job.fraction = 1;
  job.sample_unit = "words";
  job.servers = 2;
  job.workers = workers;
  job.results = {{"held_out_loss", loss + 0.1}};
  run.record.jobs = {job};
  run.jobs = {kube::Json{
      {"metadata", {{"name", "word2vec"}, {"namespace", "default"}}},
      {"spec",
       {{"goal", {{"epochs", 40}}}, {"workers", {{"replicas", workers}, {"template", {{"args", {"--dim=64"}}}}}}}}}};
  return run;
}

TEST(RunComparison, SaysWhatWasDifferentAndWhatCameOfIt) {
  const ComparedRun first = Sample("first", kStart, 2.5, 100'000, 2);
  ComparedRun second = Sample("second", kStart + 500, 2.25, 204'000, 6);
  second.record.tags = {"wide"};
  second.record.seed = 7;
  second.record.arguments = {"run", "job.yaml", "--tune", "auto"};
  second.record.jobs.front().synchronization = "BSP";
  second.record.jobs.front().threads = 2;
  second.record.jobs.front().results.emplace_back("analogies", 0.4);
  second.record.jobs.front().checkpoint = "/work/attune-runs/second/claims/model/checkpoints";
  second.record.jobs.front().checkpoint_number = 2;
  second.record.jobs.front().checkpoint_step = 412;
  ComparedRun third = Sample("third", kStart + 800, 2.4, 90'000, 2);
  third.record.outcome = RunOutcome::kInterrupted;
  third.record.jobs.front().fraction = 0.4;
  std::string text = ComparisonText(first, second, Compare(first, second));
  text += "--- list\n";
  for (const std::string& line : FormatTable(RunTable({third.record, second.record, first.record}, kStart + 3600)))
    text += line + "\n";
  text += "--- show\n" + RunText(second.record, 5 << 20, kStart + 3600);
  ExpectGolden(text, "runs.txt");
}

TEST(RunComparison, TheSameRunTwiceHasNoDifference) {
  const ComparedRun run = Sample("first", kStart, 2.5, 100'000, 2);
  const Comparison comparison = Compare(run, run);
  EXPECT_TRUE(comparison.inputs.empty());
  EXPECT_THAT(ComparisonText(run, run, comparison), HasSubstr("Both were given the same."));
  EXPECT_EQ(ToJson(run, run, comparison)["inputs"], kube::Json::array());
}

TEST(RunComparison, FieldsAreNamedByTheirPath) {
  const auto differences =
      DifferencesOf(kube::Json::parse(R"({"a": 1, "b": {"c": [1, 2]}, "d": [{"e": 1}, {"e": 2}], "g": "x"})"),
                    kube::Json::parse(R"({"b": {"c": [1, 3], "f": true}, "d": [{"e": 1}, {"e": 3}], "g": 1})"));
  std::string text;
  for (const Difference& each : differences) text += each.what + ":" + each.first + ">" + each.second + " ";
  EXPECT_EQ(text, "a:1> b.c:[1,2]>[1,3] b.f:>true d[1].e:2>3 g:x>1 ");
}

RunHistory History(const std::string& job, double started, double loss) {
  RunHistory history;
  history.name = job;
  history.phase = "Succeeded";
  history.sample_unit = "words";
  history.started = started;
  history.ended = started + 50;
  for (int i = 0; i < 50; ++i)
    history.points.push_back({.time = started + i, .loss = loss - i / 50.0, .rate = 1000, .servers = 1, .workers = 2});
  history.results = {{"held_out_loss", loss}};
  return history;
}

TEST(ComparePage, DrawsRunsOverEachOtherAndEscapesTheirNames) {
  const std::string page =
      ComparePage({{"one", History("toy", kStart, 3)}, {"<two>", History("toy", kStart + 1e6, 2)}});
  EXPECT_THAT(page, HasSubstr("2 runs over each other"));
  EXPECT_THAT(page, HasSubstr("&lt;two&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<two>")));
  EXPECT_THAT(page, HasSubstr("Training loss"));
  EXPECT_THAT(page, HasSubstr("Throughput, words/s"));
  EXPECT_THAT(page, HasSubstr("held out loss"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  for (const char* color : {"#1f6feb", "#d9730d"}) EXPECT_THAT(page, HasSubstr(color));
}

TEST(ComparePage, RunsWithoutAnyFigureAreStillListed) {
  const std::string page = ComparePage({{"one", {}}, {"two", {}}});
  EXPECT_THAT(page, HasSubstr("<td><b>two</b></td>"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace attune::cli::run_comparison_test
