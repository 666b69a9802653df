#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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
  const auto loaded = LoadHistory(SaveHistory(history));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(SaveHistory(*loaded), SaveHistory(history));
  EXPECT_EQ(loaded->points.size(), history.points.size());
  EXPECT_FALSE(loaded->points[3].loss);
  EXPECT_EQ(loaded->events.front().count, 2);
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
  for (const char* outside : {"src=", "href=", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(outside)));
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
  EXPECT_EQ(Count(page, "<rect"), 2) << "numbers stand on the first chart only";
}

TEST(ReportPage, EventsAtTheSameTimeShareABadge) {
  RunHistory history = Recorded(100);
  for (const char* reason : {"TuningTrial", "ServersAdded", "WorkersCreated"}) {
    history.events.push_back({"2027-01-15T08:00:20Z", reason, "", "word2vec", false, 1});
  }
  const std::string page = ReportPage(history);
  EXPECT_EQ(Count(page, "<rect"), 1);
  EXPECT_THAT(page, HasSubstr(">1-3</text>"));
}

TEST(ReportPage, SettingsThatWereMeasuredStandInATable) {
  const std::string page = ReportPage(Recorded(100));
  EXPECT_THAT(page, HasSubstr("Throughput by setting, words/s"));
  EXPECT_THAT(page, HasSubstr("<th>2 workers</th><th>4 workers</th>"));
  EXPECT_EQ(Count(page, "background:#"), 2);
  EXPECT_THAT(ReportPage(Recorded(40)), Not(HasSubstr("Throughput by setting")));
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

TEST(Chart, TicksAreRound) {
  EXPECT_DOUBLE_EQ(TickStep(10, 4), 5);
  EXPECT_DOUBLE_EQ(TickStep(0.7, 4), 0.2);
  EXPECT_DOUBLE_EQ(TickStep(1'234'567, 5), 500'000);
  EXPECT_DOUBLE_EQ(TickStep(0, 5), 1);
}

}  // namespace
}  // namespace attune::cli
