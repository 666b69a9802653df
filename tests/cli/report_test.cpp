#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>

#include "cli/chart.h"
#include "cli/report_page.h"
#include "cli/run_history.h"

namespace attune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kStart = 1'800'000'000;  // 2027-01-15T08:00:00Z

JobView Running(double at) {
  JobView view;
  view.name = "word2vec";
  view.name_space = "default";
  view.phase = "Running";
  view.sample_unit = "words";
  view.started = kStart;
  view.loss = 3 - at / 100;
  view.rate = 100'000 + at;
  view.remaining_seconds = 100 - at;
  view.servers_ready = 2;
  view.workers_ready = at < 50 ? 2 : 4;
  return view;
}

RunHistory Recorded(int seconds) {
  RunRecorder recorder;
  for (int at = 0; at < seconds; ++at) recorder.Add(Running(at), kStart + at);
  return recorder.history();
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RunRecorder, KeepsTheWholeRunInABoundedNumberOfPoints) {
  const RunHistory history = Recorded(10'000);
  EXPECT_LE(history.points.size(), RunHistory::kPointsMax);
  EXPECT_GE(history.points.size(), RunHistory::kPointsMax / 2);
  EXPECT_EQ(history.points.front().time, kStart);
  EXPECT_GT(history.points.back().time, kStart + 9900);
}

TEST(RunRecorder, LooksCloseTogetherAddNoPoint) {
  RunRecorder recorder;
  for (int i = 0; i < 40; ++i) recorder.Add(Running(0), kStart + i * 0.25);
  EXPECT_LE(recorder.history().points.size(), 11U);
}

TEST(RunHistory, ComesBackFromItsFile) {
  RunHistory history = Recorded(20);
  history.events = {{"2027-01-15T08:00:05Z", "ServersAdded", "Created 1 \"server\" pod", "word2vec", false, 2}};
  history.results = {{"held_out_loss", 1.5}};
  history.points[3].loss.reset();
  history.points[4].pace = "BSP";
  history.about = {{"machine", "2 cores"}};
  const auto loaded = LoadHistory(SaveHistory(history));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(SaveHistory(*loaded), SaveHistory(history));
  EXPECT_EQ(loaded->points.size(), history.points.size());
  EXPECT_FALSE(loaded->points[3].loss);
  EXPECT_EQ(loaded->events.front().count, 2);
}

TEST(RunHistory, KnowsWhatWasReportedOfTheModelAtEachTime) {
  RunRecorder recorder;
  JobView view;
  view.loss = 4;
  recorder.Add(view, 100);
  view.metrics = {{.name = "held_out_loss", .value = 3.5, .at = {}, .best = 3.5, .best_at = {}},
                  {.name = "never_finite", .at = {}, .best_at = {}, .left_out = 3}};
  recorder.Add(view, 110);
  view.metrics[0].value = 3.25;
  recorder.Add(view, 120);
  const std::string text = SaveHistory(recorder.history());
  const auto loaded = LoadHistory(text);
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->points.size(), 3U);
  EXPECT_TRUE(loaded->points[0].metrics.empty());
  EXPECT_EQ(loaded->points[1].metrics, (std::map<std::string, double>{{"held_out_loss", 3.5}}));
  EXPECT_EQ(loaded->points[2].metrics, (std::map<std::string, double>{{"held_out_loss", 3.25}}));
  const kube::Json file = kube::Json::parse(text);  // as docs/runs.md has it
  EXPECT_EQ(file["fields"].back(), "metrics");
  EXPECT_EQ(file["points"][2].back(), kube::Json({{"held_out_loss", 3.25}}));
}

TEST(RunHistory, OtherFilesAreRefused) {
  for (const char* text : {"", "[]", "{\"format\":2}", "{\"points\":[]}", "not json"}) {
    EXPECT_EQ(LoadHistory(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  const auto odd = LoadHistory(R"({"format":1,"points":[7,[1,"x"]],"events":[3,{"time":5}],"results":[1]})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->points.size(), 1U);
}

TEST(ReportPage, NeedsNothingFromOutside) {
  RunHistory history = Recorded(120);
  history.name = "<script>alert(1)</script>";
  history.events = {{"2027-01-15T08:00:50Z", "WorkersCreated", "<b>2 workers</b> & more", "word2vec", false, 1}};
  std::string page = ReportPage(history);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;2 workers&lt;/b&gt; &amp; more"));
  for (const char* outside : {"src=", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_EQ(Count(page, "href="), Count(page, "href=\"#")) << "links lead to places on the page itself";
  // The name of the SVG language is the only address.
  EXPECT_EQ(Count(page, "http"), Count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(ReportPage, EventsStandOnTheCurvesByNumber) {
  RunHistory history = Recorded(100);
  history.events = {{"2027-01-15T08:00:01Z", "WorkersCreated", "Created 2 worker pods", "word2vec", false, 1},
                    {"2027-01-15T08:00:20Z", "ServersAdded", "one more", "word2vec", false, 1},
                    {"2027-01-15T08:00:30Z", "TrainingStarted", "ready", "word2vec", false, 1},
                    {"2027-01-15T08:00:40Z", "ServerFailed", "killed", "word2vec", true, 1}};
  const std::string page = ReportPage(history);
  EXPECT_THAT(page, HasSubstr(">1</span></td><td>20s</td><td>ServersAdded"));
  EXPECT_THAT(page, HasSubstr(">2</span></td><td>40s</td><td>ServerFailed"));
  EXPECT_THAT(page, HasSubstr("<td></td><td>30s</td><td>TrainingStarted"));
  EXPECT_EQ(Count(page, "<rect"), 4) << "numbers stand on the first chart only, which is there for two widths";
  EXPECT_THAT(page, HasSubstr("<a href=\"#e2\">"));
  EXPECT_THAT(page, HasSubstr("<tr id=\"e2\">"));
}

TEST(ReportPage, EventsAtTheSameTimeShareABadge) {
  RunHistory history = Recorded(100);
  for (const char* reason : {"ServerFailed", "CheckpointWritten", "WorkersCreated"}) {
    history.events.push_back({"2027-01-15T08:00:20Z", reason, "", "word2vec", false, 1});
  }
  const std::string page = ReportPage(history);
  EXPECT_EQ(Count(page, "<rect"), 2) << "once for each of two widths";
  EXPECT_THAT(page, HasSubstr(">1-3</text>"));
}

TEST(ReportPage, SettingsThatWereMeasuredStandInATable) {
  const std::string page = ReportPage(Recorded(100));
  EXPECT_THAT(page, HasSubstr("Throughput by setting"));
  EXPECT_THAT(page,
              HasSubstr("<tr><td>2</td><td>4</td><td>Async</td><td><b>100k</b></td><td>100k to 100k</td><td>49s</td>"));
  EXPECT_EQ(Count(page, "class=\"bar\""), 2);
  EXPECT_THAT(ReportPage(Recorded(40)), Not(HasSubstr("Throughput by setting")));
}

RunHistory TunedRun() {
  RunHistory history = Recorded(100);
  history.events = {
      {"2027-01-15T08:00:20Z", "TuningTrial", "Trying 2 servers, 4 workers: expected +20 %", "word2vec", false, 1},
      {"2027-01-15T08:00:21Z", "ServersAdded", "Created 1 server pod", "word2vec", false, 1},
      {"2027-01-15T08:00:40Z", "TuningOutcome",
       "At 20 s tried servers=2 workers=4: why. Predicted +20 % at a cost of 2 s; "
       "measured +31 % (\u00b12 %); kept.",
       "word2vec", false, 1},
      {"2027-01-15T08:00:41Z", "TuningMove", "Moving to 2 servers, 4 workers", "word2vec", false, 1}};
  return history;
}

TEST(ReportPage, ATrialIsOneMarkWithItsOutcome) {
  const std::string page = ReportPage(TunedRun());
  EXPECT_THAT(page,
              HasSubstr("Trying 2 servers, 4 workers: expected +20 %<br><b>measured +31 % (\u00b12 %); kept.</b>"));
  EXPECT_THAT(page, Not(HasSubstr("TuningOutcome"))) << "it stands in the row of its trial";
  EXPECT_THAT(page, HasSubstr(">2</span></td><td>41s</td><td>TuningMove"));
  EXPECT_THAT(page, HasSubstr("fill-opacity=\"0.12\"")) << "shaded while it was tried";
}

TEST(ReportPage, SaysInOneLineWhatTuningDid) {
  EXPECT_THAT(ReportPage(TunedRun()), HasSubstr("2 x 2 at 100k \u2192 2 x 4 at 100k words/s, 2 changes"));
  EXPECT_THAT(ReportPage(Recorded(100)), Not(HasSubstr("Tuning:")));
}

TEST(ReportPage, EndsWithTheFiguresOfTheTerminal) {
  RunRecorder recorder;
  for (int at = 0; at < 60; ++at) recorder.Add(Running(at), kStart + at);
  JobView done = Running(60);
  done.outcome = JobView::Outcome::kSucceeded;
  done.loss = 1.234;
  done.rate = 77'700;
  recorder.Add(done, kStart + 60);
  const std::string page = ReportPage(recorder.history());
  EXPECT_THAT(page, HasSubstr("<b>1.234</b><span>training loss at the end"));
  EXPECT_THAT(page, HasSubstr("<b>77.7k words/s</b><span>rate at the end"));
}

TEST(ReportPage, TheHeadSaysWhenInWhichZoneAndWhatElseIsKnown) {
  setenv("TZ", "UTC", 1);
  tzset();
  RunHistory history = Recorded(60);
  history.about = {{"manifest", "job.yaml"}, {"machine", "2 cores"}};
  const std::string page = ReportPage(history);
  EXPECT_THAT(page, HasSubstr("began 2027-01-15 08:00:00 UTC"));
  EXPECT_THAT(page, HasSubstr("manifest: job.yaml<br>machine: 2 cores"));
}

TEST(ReportPage, TheLossIsDrawnByShareOfTheGoalToo) {
  EXPECT_THAT(ReportPage(Recorded(60)), Not(HasSubstr("by share of the goal"))) << "no shares were reported";
  RunHistory history = Recorded(60);
  for (size_t i = 0; i < history.points.size(); ++i) history.points[i].fraction = 0.01 * static_cast<double>(i);
  const std::string page = ReportPage(history);
  EXPECT_THAT(page, HasSubstr("Training loss by share of the goal"));
  EXPECT_THAT(page, HasSubstr(">50%</text>"));
}

TEST(ReportPage, FiguresAreThereForThePointerWithoutAScript) {
  EXPECT_THAT(ReportPage(Recorded(60)), HasSubstr("<title>at 30s\n"));
}

TEST(ReportPage, ARunThatWasNotSeenTrainingSaysSo) {
  RunHistory history;
  history.name = "word2vec";
  EXPECT_THAT(ReportPage(history), HasSubstr("Too short for curves"));
}

TEST(Chart, NothingToDrawIsNoChart) {
  Chart chart;
  EXPECT_THAT(SvgText(chart), IsEmpty());
  chart.series = {{.name = "a", .color = "#000", .points = {{0, std::nan("")}}}};
  EXPECT_THAT(SvgText(chart), IsEmpty());
}

TEST(Chart, ValuesThatAreNotFiniteLeaveAGap) {
  Chart chart;
  chart.x_max = 4;
  chart.series = {{.name = "", .color = "#000", .points = {{0, 1}, {1, 2}, {2, std::nan("")}, {3, 1}, {4, 2}}}};
  EXPECT_EQ(Count(SvgText(chart), "<polyline"), 2);
  EXPECT_THAT(SvgText(chart), Not(HasSubstr("nan")));
}

TEST(Chart, AConstantHasALineToo) {
  Chart chart;
  chart.x_max = 2;
  chart.series = {{.name = "", .color = "#000", .points = {{0, 5}, {2, 5}}}};
  EXPECT_THAT(SvgText(chart), HasSubstr("<polyline"));
}

TEST(Chart, ALogarithmicAxisIsForPositiveValuesOnly) {
  Chart chart;
  chart.x_max = 2;
  chart.log_y = true;
  chart.series = {{.name = "", .color = "#000", .points = {{0, 100}, {1, 10}, {2, 1}}}};
  const std::string log = SvgText(chart);
  for (const char* tick : {">1</text>", ">10</text>", ">100</text>"}) EXPECT_THAT(log, HasSubstr(tick));
  chart.series[0].points[2].second = 0;
  EXPECT_THAT(SvgText(chart), Not(HasSubstr("nan")));
  EXPECT_THAT(SvgText(chart), HasSubstr(">0</text>"));
}

TEST(Chart, TicksAreRound) {
  EXPECT_DOUBLE_EQ(TickStep(10, 4), 5);
  EXPECT_DOUBLE_EQ(TickStep(0.7, 4), 0.2);
  EXPECT_DOUBLE_EQ(TickStep(1'234'567, 5), 500'000);
  EXPECT_DOUBLE_EQ(TickStep(0, 5), 1);
}

}  // namespace
}  // namespace attune::cli
