#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>

#include "cli/display/chart.h"
#include "cli/report/compare_page.h"
#include "cli/report/report_page.h"
#include "cli/report/report_settings.h"
#include "cli/runs/run_history.h"

namespace attune::cli::report_test {
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
  view.steps = 40 * at;
  view.epochs_done = at / 25;
  for (int i = 0; i < view.workers_ready; ++i)
    view.pods.push_back({.name = "word2vec-worker-" + std::to_string(i), .rate = 25'000 + i});
  return view;
}

RunHistory Recorded(int seconds) {
  RunRecorder recorder;
  for (int at = 0; at < seconds; ++at) recorder.Add(Running(at), kStart + at);
  return recorder.history();
}

// Three x axes, two scales, two widths of screens.
constexpr int kLossDrawings = 3 * 2 * 2;

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
  history.points[5].metrics = {{"held_out_loss", 3.21}};
  history.points[6].threads = 3;
  history.points[8].worker_usage = api::RoleUsage{.cpu_cores = 0.9,
                                                  .cpu_limit_cores = 1.5,
                                                  .throttled = 0.12,
                                                  .fullest = "",
                                                  .memory_bytes = 300 << 20,
                                                  .memory_limit_bytes = 1 << 30};
  const auto loaded = LoadHistory(SaveHistory(history));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(SaveHistory(*loaded), SaveHistory(history));
  EXPECT_EQ(loaded->points.size(), history.points.size());
  EXPECT_FALSE(loaded->points[3].loss);
  EXPECT_EQ(loaded->events.front().count, 2);
  EXPECT_EQ(loaded->points[5].metrics.at("held_out_loss"), 3.21);
  EXPECT_EQ(loaded->points[6].threads, 3);
  EXPECT_EQ(loaded->points[7].steps, history.points[7].steps);
  EXPECT_EQ(loaded->points[7].epochs, history.points[7].epochs);
  EXPECT_EQ(loaded->points[8].worker_usage, history.points[8].worker_usage);
  EXPECT_FALSE(loaded->points[8].server_usage);
  EXPECT_EQ(loaded->workers, history.workers);
  EXPECT_EQ(loaded->points[7].worker_rates, history.points[7].worker_rates);
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
  EXPECT_EQ(file["fields"][11], "metrics");
  EXPECT_EQ(file["points"][2][11], kube::Json({{"held_out_loss", 3.25}}));
}

TEST(RunHistory, OtherFilesAreRefused) {
  for (const char* text : {"", "[]", "{\"format\":2}", "{\"points\":[]}", "not json"}) {
    EXPECT_EQ(LoadHistory(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  const auto odd = LoadHistory(R"({"format":1,"points":[7,[1,"x"]],"events":[3,{"time":5}],"results":[1]})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->points.size(), 1U);
}

TEST(ReportPage, ShowsWhatPodsUseOfTheirLimits) {
  RunHistory history = Recorded(120);
  EXPECT_THAT(ReportPage(history), Not(HasSubstr("Cores of a worker"))) << "nothing was reported";
  for (RunPoint& point : history.points) {
    point.worker_usage = api::RoleUsage{.cpu_cores = 0.9, .cpu_limit_cores = 1, .fullest = "", .memory_bytes = 1 << 28};
  }
  const std::string page = ReportPage(history);
  EXPECT_THAT(page, HasSubstr("Cores of a worker"));
  EXPECT_THAT(page, HasSubstr("Memory of the fullest worker"));
  EXPECT_THAT(page, HasSubstr(">limit<"));
  EXPECT_THAT(page, Not(HasSubstr("Cores of a server")));
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
  EXPECT_THAT(page, HasSubstr(">1</a></td><td>20s</td><td>ServersAdded"));
  EXPECT_THAT(page, HasSubstr(">2</a></td><td>40s</td><td>ServerFailed"));
  EXPECT_THAT(page, HasSubstr("<td></td><td>30s</td><td>TrainingStarted"));
  EXPECT_EQ(Count(page, "rx=\"8\""), 2 * kLossDrawings) << "numbers stand on the first chart only";
  EXPECT_THAT(page, HasSubstr("<a href=\"#e2\">"));
  EXPECT_THAT(page, HasSubstr("<tr id=\"e2\">"));
}

TEST(ReportPage, EventsAtTheSameTimeShareABadge) {
  RunHistory history = Recorded(100);
  for (const char* reason : {"ServerFailed", "CheckpointWritten", "WorkersCreated"}) {
    history.events.push_back({"2027-01-15T08:00:20Z", reason, "", "word2vec", false, 1});
  }
  const std::string page = ReportPage(history);
  EXPECT_EQ(Count(page, "rx=\"8\""), kLossDrawings);
  EXPECT_THAT(page, HasSubstr(">1-3</text>"));
}

TEST(ReportPage, SettingsThatWereMeasuredStandInATable) {
  const std::string page = ReportPage(Recorded(100));
  EXPECT_THAT(page, HasSubstr("Throughput by setting"));
  EXPECT_THAT(page,
              HasSubstr("<tr id=\"s2-4-0-Async\"><td>2</td><td>4</td><td>Async</td><td><b>100k</b></td><td>100k to "
                        "100k</td><td>49s</td>"));
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
  EXPECT_THAT(page, HasSubstr(">2</a></td><td>41s</td><td>TuningMove"));
  EXPECT_THAT(page, HasSubstr("fill-opacity=\"0.12\"")) << "shaded while it was tried";
  EXPECT_THAT(page, HasSubstr("<summary>1 step of this change</summary>21s ServersAdded: Created 1 server pod"));
}

TEST(ReportPage, SaysInOneLineWhatTuningDid) {
  EXPECT_THAT(ReportPage(TunedRun()), HasSubstr("2 x 2 at 100k \u2192 2 x 4 at 100k words/s, 2 changes"));
  EXPECT_THAT(ReportPage(Recorded(100)), Not(HasSubstr("Tuning:")));
  EXPECT_EQ(TuningHeadline(Recorded(100)), "");
  RunHistory faster = TunedRun();
  for (RunPoint& point : faster.points) {
    if (point.workers == 4) point.rate = 250'000;
  }
  EXPECT_EQ(TuningHeadline(faster), "2 x 2 at 100k \u2192 2 x 4 at 250k words/s, 2.5 times as fast, 2 changes");
}

TEST(ReportPage, EndsWithTheFiguresOfTheTerminal) {
  RunRecorder recorder;
  for (int at = 0; at < 60; ++at) recorder.Add(Running(at), kStart + at);
  JobView done = Running(60);
  done.outcome = JobView::Outcome::kSucceeded;
  done.loss = 1.234;
  done.rate = 77'700;
  api::MetricStatus metric;
  metric.name = "held_out_loss";
  metric.value = 1.606;
  metric.best = 1.553;
  metric.best_at.epoch = 30;
  done.metrics = {metric};
  done.phase = "Succeeded";
  done.best_checkpoint = "checkpoint 7 in /m/c, held_out_loss 1.553 at epoch 30";
  recorder.Add(done, kStart + 60);
  const auto loaded = LoadHistory(SaveHistory(recorder.history()));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::string page = ReportPage(*loaded);
  EXPECT_THAT(page, HasSubstr("<b>1.553</b><span>best held out loss, at epoch 30"));
  EXPECT_THAT(page,
              HasSubstr("<dt>best checkpoint</dt><dd>checkpoint 7 in /m/c, held_out_loss 1.553 at epoch 30</dd>"));
  EXPECT_EQ(loaded->points.back().metrics.at("held_out_loss"), 1.606) << "the last evaluation ends with the job";
  EXPECT_THAT(ComparePage({{"a", *loaded}, {"b", *loaded}}), HasSubstr("<td data-label=\"last loss\">1.234</td>"));
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
  EXPECT_THAT(page, HasSubstr("<dt>manifest</dt><dd>job.yaml</dd><dt>machine</dt><dd>2 cores</dd>"));
}

TEST(ReportPage, CurvesAreDrawnOverTimeStepsAndEpochsWhereTheseAreKnown) {
  const std::string page = ReportPage(Recorded(60));
  for (const char* axis : {"time", "steps", "epochs"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<label for=\"x-") + axis + "\">" + axis)) << axis;
    EXPECT_THAT(page, HasSubstr(std::string("#x-") + axis + ":checked~main .on-" + axis + "{display:block}")) << axis;
    EXPECT_THAT(page, HasSubstr(std::string("<div class=\"on-") + axis)) << axis;
  }
  EXPECT_THAT(page, HasSubstr(">2k</text>")) << "a tick of steps";
  RunHistory history = Recorded(60);
  for (RunPoint& point : history.points) point.steps = point.epochs = std::nullopt;
  const std::string by_time = ReportPage(history);
  EXPECT_THAT(by_time, Not(HasSubstr("<label for=\"x-")));
  EXPECT_THAT(by_time, Not(HasSubstr("<div class=\"on-steps")));
}

TEST(ReportPage, TheLossIsLogarithmicAtFirstWhereItSpansMuchAndWhenChosen) {
  const std::string flat = ReportPage(Recorded(60));
  EXPECT_THAT(flat, HasSubstr("id=\"y-linear\" checked"));
  EXPECT_THAT(flat, HasSubstr("<label for=\"y-log\">logarithmic</label>"));
  RunHistory steep = Recorded(60);
  for (size_t i = 0; i < steep.points.size(); ++i) steep.points[i].loss = std::exp(-0.1 * static_cast<double>(i));
  EXPECT_THAT(ReportPage(steep), HasSubstr("id=\"y-log\" checked"));
  steep.points[3].loss = -1;
  EXPECT_THAT(ReportPage(steep), Not(HasSubstr("y-log"))) << "not all values have a logarithm";
}

TEST(ReportPage, EventsLieWhereTheyHappenedOnEachAxis) {
  RunHistory history = Recorded(101);
  history.events = {{"2027-01-15T08:00:50.5Z", "ServerFailed", "killed", "word2vec", true, 1}};
  // The plot of a wide page is 850 wide and begins at 74: half-way on each of the axes.
  EXPECT_EQ(Count(ReportPage(history), "<line x1=\"503.2\" y1=\"30.0\" x2=\"503.2\" y2=\"244.0\""), 6)
      << "three axes of two scales";
}

TEST(ReportPage, EachMetricOfTheTrainingHasACurve) {
  RunHistory history = Recorded(60);
  EXPECT_THAT(ReportPage(history), Not(HasSubstr("Held out loss")));
  for (size_t i = 5; i < history.points.size(); i += 20) {
    history.points[i].metrics["held_out_loss"] = 3 - 0.01 * static_cast<double>(i);
    history.points[i].metrics["accuracy"] = 0.5;
  }
  const std::string page = ReportPage(history);
  EXPECT_THAT(page, HasSubstr(">Held out loss</text>"));
  EXPECT_THAT(page, HasSubstr(">Accuracy</text>"));
  EXPECT_THAT(page, HasSubstr("<tspan x=\"")) << "with figures under the pointer";
}

TEST(ReportPage, EachWorkerHasALineUnderItsShortName) {
  const std::string page = ReportPage(Recorded(80));
  EXPECT_THAT(page, HasSubstr("Throughput of each worker, words/s"));
  for (const char* worker : {">worker-0</text>", ">worker-3</text>"}) EXPECT_THAT(page, HasSubstr(worker));
  EXPECT_THAT(page, HasSubstr("worker-3 25.0k</tspan>"));
  RunHistory many = Recorded(80);
  for (int i = 4; i < 20; ++i) many.workers.push_back("word2vec-worker-" + std::to_string(i));
  EXPECT_THAT(ReportPage(many), Not(HasSubstr(">worker-0</text>"))) << "a legend of 20 entries explains nothing";
}

TEST(ReportPage, ATrialAndItsSettingLeadToEachOther) {
  const std::string page = ReportPage([] {
    RunHistory history = TunedRun();
    history.events[0].time = "2027-01-15T08:00:49Z";
    history.events[2].time = "2027-01-15T08:01:10Z";
    history.events.pop_back();
    return history;
  }());
  EXPECT_THAT(page, HasSubstr("<a href=\"#s2-4-0-Async\">2 x 4 in the table</a>"));
  EXPECT_THAT(page, HasSubstr("<th>tried</th>"));
  EXPECT_THAT(page, HasSubstr("<td>49s</td><td><a class=\"n\" style=\"background:#d9730d\" href=\"#e1\">1</a></td>"));
}

TEST(ReportPage, SettingsOfDifferentThreadsAreTwo) {
  RunHistory history = Recorded(45);
  for (size_t i = 0; i < history.points.size(); ++i) history.points[i].threads = i < 20 ? 1 : 2;
  const std::string page = ReportPage(history);
  EXPECT_THAT(page, HasSubstr("<th>threads</th>"));
  EXPECT_THAT(page, HasSubstr("id=\"s2-2-1-Async\""));
  EXPECT_THAT(page, HasSubstr("id=\"s2-2-2-Async\""));
}

TEST(ReportPage, FiguresAreThereForThePointerWithoutAScript) {
  const std::string page = ReportPage(Recorded(60));
  EXPECT_THAT(page, HasSubstr(">at 30s</tspan>"));
  EXPECT_THAT(page, HasSubstr(">epoch 1.2"));
  EXPECT_THAT(page, HasSubstr("smoothed 2.7"));
  EXPECT_THAT(page, HasSubstr(".h:hover .v{visibility:visible}"));
}

RunHistory NamedRun(double loss_at_end) {
  RunHistory history = Recorded(60);
  history.loss = loss_at_end;
  history.about = {{"manifest", "job.yaml"}};
  return history;
}

TEST(ComparePage, IsDarkWhereTheReaderWantsItAndFitsAPhone) {
  const std::string page = ComparePage({{"first", NamedRun(1.5)}, {"second", NamedRun(1.25)}});
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("class=\"narrow\""));
  EXPECT_THAT(page, HasSubstr("<label for=\"x-epochs\">"));
  EXPECT_THAT(page, HasSubstr("<td data-label=\"last loss\">1.250</td>")) << "the last figure of the terminal";
  EXPECT_THAT(page, HasSubstr("<tr><td>manifest</td><td>job.yaml</td><td>job.yaml</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ComparePage, SaysWhatTuningDidAndAtWhichPaceARunEnded) {
  RunHistory tuned = TunedRun();
  tuned.points.back().pace = "BSP";
  const std::string page = ComparePage({{"first", tuned}, {"second", NamedRun(1)}});
  EXPECT_THAT(page,
              HasSubstr("<td>tuning</td><td>2 x 2 at 100k \u2192 2 x 4 at 100k words/s, 2 changes</td><td>-</td>"));
  EXPECT_THAT(page, HasSubstr("<td data-label=\"servers x workers\">2 x 4, BSP</td>"));
}

TEST(ComparePage, MetricsOfEitherRunHaveACurve) {
  RunHistory second = NamedRun(1);
  second.points[10].metrics["held_out_loss"] = 2;
  second.points[40].metrics["held_out_loss"] = 1.5;
  EXPECT_THAT(ComparePage({{"first", NamedRun(1)}, {"second", second}}), HasSubstr(">Held out loss</text>"));
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

TEST(Chart, TicksAreWrittenWithoutWhatSaysNothing) {
  Chart chart;
  chart.x_max = 7200;
  chart.y_time = true;
  chart.from_zero = true;
  chart.series = {{.name = "", .color = "#000", .points = {{0, 0}, {7200, 200}}}};
  const std::string time = SvgText(chart);
  for (const char* tick : {">1m</text>", ">1h20m</text>", ">2h</text>"}) EXPECT_THAT(time, HasSubstr(tick));
  EXPECT_THAT(time, Not(HasSubstr("1m40s")));
  chart.y_time = false;
  chart.format = [](double y) { return std::to_string(static_cast<int>(y) / 100) + ".00k"; };
  EXPECT_THAT(SvgText(chart), HasSubstr(">1k</text>"));
}

TEST(Chart, ANarrowLogarithmicAxisHasTicksToo) {
  Chart chart;
  chart.log_y = true;
  chart.height = 270;
  chart.series = {{.name = "", .color = "#000", .points = {{0, 3.4}, {1, 1.1}}}};
  const std::string text = SvgText(chart);
  for (const char* tick : {">1.5</text>", ">2</text>", ">3</text>"}) EXPECT_THAT(text, HasSubstr(tick));
}

TEST(Chart, ALegendThatDoesNotFitBesideTheTitleStandsBelow) {
  Chart chart;
  chart.title = "Throughput of each worker, words/s";
  for (int i = 0; i < 8; ++i)
    chart.series.push_back({.name = "worker-" + std::to_string(i), .color = "#000", .points = {{0, 1}, {1, 2}}});
  EXPECT_THAT(SvgText(chart), HasSubstr("viewBox=\"0 0 940.0 208.0\"")) << "one row more";
  chart.width = 400;
  EXPECT_THAT(SvgText(chart), HasSubstr("viewBox=\"0 0 400.0 226.0\"")) << "two rows";
  chart.series.resize(2);
  chart.width = 940;
  EXPECT_THAT(SvgText(chart), HasSubstr("viewBox=\"0 0 940.0 190.0\""));
}

TEST(Chart, TicksAreRound) {
  EXPECT_DOUBLE_EQ(TickStep(10, 4), 5);
  EXPECT_DOUBLE_EQ(TickStep(0.7, 4), 0.2);
  EXPECT_DOUBLE_EQ(TickStep(1'234'567, 5), 500'000);
  EXPECT_DOUBLE_EQ(TickStep(0, 5), 1);
}

}  // namespace
}  // namespace attune::cli::report_test
