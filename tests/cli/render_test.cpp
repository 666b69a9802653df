#include "cli/display/job/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cli/display/job/job_json.h"
#include "cli/display/job/summary.h"
#include "cli/display/job_table.h"
#include "cli/display/screen.h"
#include "cli/display/table.h"
#include "cli/display/trend.h"
#include "tests/cli/golden.h"

namespace attune::cli::render_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNow = 1'800'000'062;

JobView Training() {
  JobView view;
  view.name = "word2vec";
  view.name_space = "default";
  view.phase = "Running";
  view.fraction = 0.475;
  view.epochs = 1;
  view.loss = 3.1172;
  view.rate = 181'400;
  view.sample_unit = "words";
  view.remaining_seconds = 80;
  view.servers_ready = view.servers_wanted = 2;
  view.workers_ready = 2;
  view.workers_wanted = 3;
  view.started = kNow - 62;
  view.pods = {{"word2vec-server-0", "server", "Ready", {}, 38'100, 12 << 20, 0.41},
               {"word2vec-server-1", "server", "Ready", {}, 37'900, 12 << 20, 0.40},
               {"word2vec-worker-0", "worker", "Ready", 91'000, {}, 84 << 20, 0.99},
               {"word2vec-worker-1", "worker", "Ready", 90'400, {}, 84 << 20, 1.00},
               {"word2vec-worker-2", "worker", "Pending", {}, {}, {}, {}}};
  view.events = {{"2027-01-15T08:00:01Z", "Started", "2 servers and 2 workers are ready", "word2vec", false, 1},
                 {"2027-01-15T08:00:50Z", "Scaling", "workers 2 -> 3", "word2vec", false, 1}};
  return view;
}

std::string Text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

JobView Moving() {
  JobView view = Training();
  view.synchronization = "SSP(4)";
  view.slowest_worker = "word2vec-worker-1";
  view.moving_bytes_left = 84 << 20;
  view.moving_rows_per_second = 250'000;
  view.checkpoint = "/shared/word2vec/7";
  view.checkpoint_time = "2027-01-15T08:00:02Z";
  view.checkpoint_bytes = 512 << 20;
  view.recoveries = 1;
  view.restored_rows = 1200;
  return view;
}

TEST(Render, WhatTheDataPlaneDoesHasALineOfItsOwn) {
  const Screen screen{.width = 200, .height = 24, .color = false, .unicode = true};
  EXPECT_EQ(Render(Moving(), screen, kNow)[3],
            "pace SSP(4), waiting for word2vec-worker-1   moving rows: 250k/s, 84.0 MiB left   checkpoint 512 MiB, "
            "1m00s old   servers lost: 1, rows restored: 1.20k");
  EXPECT_THAT(RenderPlain(Moving(), kNow), HasSubstr("moving rows: 250k/s"));
  EXPECT_THAT(RenderJson(Moving(), kNow), HasSubstr(R"("moving":{"bytesLeft":88080384,"rowsPerSecond":250000.0})"));
  JobView done = Moving();
  done.outcome = JobView::Outcome::kSucceeded;
  EXPECT_THAT(RenderSummary(done, screen), HasSubstr("servers lost  1, 1200 rows went back"));
  EXPECT_THAT(RenderSummary(done, screen), HasSubstr("checkpoint    /shared/word2vec/7"));
}

TEST(Render, AStandstillHasALineOfItsOwnAndNoTimeThatCountsDown) {
  const Screen screen{.width = 200, .height = 24, .color = false, .unicode = true};
  api::TrainingJob job;
  job.name = "word2vec";
  job.status.phase = "Running";
  job.status.conditions = {{api::kProgressing, "False", "NoProgress",
                            "no step ends: word2vec-server-1 is not heard of, since 2027-01-15T08:00:02Z",
                            "2027-01-15T08:00:08Z", 1}};
  const JobView view = MakeView(job, {}, {});
  const std::string age = AgeText("2027-01-15T08:00:02Z", kNow);
  EXPECT_EQ(Render(view, screen, kNow)[3], "no step ends: word2vec-server-1 is not heard of, for " + age);
  EXPECT_THAT(RenderPlain(view, kNow), HasSubstr("no step ends: word2vec-server-1 is not heard of, for"));
  EXPECT_THAT(RenderJson(view, kNow), HasSubstr(R"("trouble":"no step ends)"));
  job.status.conditions[0] = {api::kProgressing, "True", "StepsEnd", "steps end", "2027-01-15T08:00:20Z", 1};
  EXPECT_EQ(MakeView(job, {}, {}).trouble, "");
}

TEST(Render, TheDisplayAtSeveralWidths) {
  std::string all;
  for (const int width : {100, 72, 40}) {
    const Screen screen{.width = width, .height = 24, .color = false, .unicode = true};
    all += "--- " + std::to_string(width) + " columns\n" + Text(Render(Training(), screen, kNow));
  }
  all += "--- plain characters, before the first news\n";
  JobView early;
  early.name = "word2vec";
  early.phase = "Starting";
  early.servers_wanted = early.workers_wanted = 2;
  all += Text(Render(early, {.width = 80, .height = 24, .color = false, .unicode = false}, kNow));
  ExpectGolden(all, "render.txt");
}

// Everything at once: what a bad day looks like.
JobView BadDay() {
  JobView view = Moving();
  view.trouble = "no step ends: word2vec-server-1 is not heard of";
  view.trouble_since = "2027-01-15T08:00:50Z";
  view.errors = {
      "ContainerCannotStart: word2vec-worker-2: there is no program attune-word2vex beside attune or on the "
      "PATH; correct spec.workers.template.spec.containers[0].command"};
  view.tuning_stage = "Trying";
  view.tuning =
      "trying 2 servers, 4 workers (from 2 servers, 2 workers): expected +20 % (\u00b130 %); may save 40 s of "
      "about 5 min left";
  view.remaining_low = 50;
  view.remaining_high = 80;
  for (int i = 0; i < 40; ++i) {
    view.loss_trend.push_back(5 - 0.05 * i);
    view.rate_trend.push_back(100'000 + 2'000 * (i % 7));
  }
  for (int i = 3; i < 7; ++i)
    view.pods.push_back({"word2vec-worker-" + std::to_string(i),
                         "worker",
                         i == 5 ? "Failed: exit code 1" : "Ready",
                         i == 4 ? 20'000.0 : 90'000.0,
                         {},
                         {},
                         {},
                         {}});
  for (int i = 0; i < 12; ++i)
    view.events.push_back(
        {"2027-01-15T08:00:51Z", "WorkerFailed", "worker " + std::to_string(i) + " exited", "", true, 1});
  return view;
}

TEST(Render, ABadDayOnThreeScreens) {
  std::string all;
  for (const auto& [width, height] : {std::pair(80, 24), {120, 40}, {40, 20}}) {
    const Screen screen{.width = width, .height = height, .color = false, .unicode = true};
    const auto lines = Render(BadDay(), screen, kNow);
    EXPECT_LE(lines.size(), static_cast<size_t>(height - 1));
    all += "--- " + std::to_string(width) + "x" + std::to_string(height) + "\n" + Text(lines);
  }
  ExpectGolden(all, "render-bad-day.txt");
}

TEST(Render, AJobThatStandsStillSaysSoInPlaceOfATimeThatCountsDown) {
  const Screen screen{.width = 80, .height = 24, .color = false, .unicode = true};
  JobView view = BadDay();
  view.tuning = "keeping 2 servers";
  const std::string text = Text(Render(view, screen, kNow));
  EXPECT_THAT(text, HasSubstr("no step ends: word2vec-server-1 is not heard of, for 12s\n"));
  EXPECT_THAT(text, Not(HasSubstr("s left"))) << "neither of the pace nor of the tuner";
  EXPECT_THAT(RenderPlain(BadDay(), kNow), HasSubstr("is not heard of, for 12s"));
  EXPECT_THAT(RenderJson(BadDay(), kNow), HasSubstr(R"("trouble":"no step ends)"));
}

TEST(Render, MetricsHaveCurvesWhereRowsAreFree) {
  JobView view = Training();
  for (int i = 0; i < 40; ++i) view.loss_trend.push_back(5 - 0.05 * i), view.rate_trend.push_back(100'000 + 10 * i);
  view.metric_trends = {{"held_out_loss", {1.7, 1.6, 1.55, 1.58}}, {"recall", {0.25}}};
  const auto text = [&](int width, int height) {
    return Text(Render(view, {.width = width, .height = height, .color = false, .unicode = true}, kNow));
  };
  EXPECT_THAT(text(120, 40), HasSubstr("\n  loss           "));
  EXPECT_THAT(text(120, 40), HasSubstr("\n  held_out_loss  \u2588\u2583\u2581\u2582  1.550 to 1.700\n"));
  EXPECT_THAT(text(120, 40), Not(HasSubstr("\n  recall"))) << "one report is no curve";
  EXPECT_THAT(text(80, 17), AllOf(HasSubstr("\n  rate  "), Not(HasSubstr("held_out_loss")))) << "no row is free for it";
  EXPECT_THAT(text(80, 16), Not(HasSubstr("\n  loss  "))) << "pods and Events come first";
  view.metric_trends = {{std::string(64, 'x'), {1, 2}}};
  for (const std::string& line : Render(view, {.width = 40, .height = 40, .color = false, .unicode = true}, kNow))
    EXPECT_LE(DisplayWidth(line), 40) << line;
}

TEST(Render, TheTunersLastDecisionsStandBetweenPodsAndEvents) {
  JobView view = Training();
  for (uint64_t i = 1; i <= 4; ++i) {
    view.decisions.push_back({.number = i,
                              .time = "2027-01-15T08:00:32Z",
                              .from = "servers=1 workers=2 slack=0",
                              .to = i == 4 ? "servers=2 workers=4 slack=0" : "servers=1 workers=3 slack=0",
                              .expected = "+20 %",
                              .measured = i == 4 ? "" : "+61 % (\u00b14.0 %)",
                              .outcome = i == 4 ? "Open" : "Kept"});
  }
  view.move = "word2vec-worker-1 moves from node-1 to node-2";
  view.moving = true;
  const Screen screen{.width = 100, .height = 40, .color = false, .unicode = true};
  const std::string text = Text(Render(view, screen, kNow));
  EXPECT_THAT(text, HasSubstr("\nword2vec-worker-1 moves from node-1 to node-2\n"));
  EXPECT_THAT(text, HasSubstr("\n\n  #2  workers 2 -> 3: kept, measured +61 % (\u00b14.0 %), 30s ago\n"));
  EXPECT_THAT(text, HasSubstr("\n  #4  servers 1 -> 2, workers 2 -> 4: being tried, expected +20 %, 30s ago\n\n"));
  EXPECT_THAT(text, Not(HasSubstr("#1"))) << "the last three";
  view.moving = false;
  EXPECT_THAT(Text(Render(view, screen, kNow)), Not(HasSubstr("node-2"))) << "Events have what is over";
}

TEST(Render, PodsShowLimitsAndHowLongTheyWereThrottledAsFarAsThereIsRoom) {
  JobView view = Training();
  for (PodView& pod : view.pods) {
    if (!pod.memory_bytes) continue;
    pod.memory_limit = 256 << 20;
    pod.cpu_limit = 1;
    pod.throttled = 0.125;
  }
  const auto row = [&](int width) {
    for (const std::string& line : Render(view, {.width = width, .height = 24, .unicode = true}, kNow)) {
      if (line.find("worker-0") != std::string::npos) return line;
    }
    return std::string();
  };
  EXPECT_EQ(row(120), "  word2vec-worker-0   Ready     91.0k words/s   -       84.0 MiB of 256 MiB   0.99 of 1   12%");
  EXPECT_EQ(row(80), "  worker-0   Ready     91.0k/s   -       32% of 256 MiB   0.99 of 1   12%");
}

TEST(Render, AProgramThatEndsBeforeAnyStepIsNamedAtOnce) {
  api::TrainingJob job;
  job.name = "toy";
  const auto worker = [](const std::string& name, const std::string& phase) {
    return kube::Json{{"metadata", {{"name", name}, {"labels", {{"attune.dev/role", "worker"}}}}},
                      {"status", {{"phase", phase}}}};
  };
  EXPECT_EQ(EndedWithoutAStep(job, {worker("toy-worker-0", "Running")}), "");
  const std::vector<kube::Json> ended = {worker("toy-worker-0", "Succeeded"), worker("toy-worker-1", "Running")};
  EXPECT_THAT(
      EndedWithoutAStep(job, ended),
      HasSubstr("toy-worker-0 has ended with code 0 before any step was done: a worker's program opens a session"));
  ASSERT_EQ(MakeView(job, ended, {}).errors.size(), 1U);
  job.status.conditions = {{"GoalReached", "True", "GoalReached", "1 epoch done", "", 1}};
  EXPECT_EQ(EndedWithoutAStep(job, ended), "") << "it has done its part";
  job.status.conditions.clear();
  job.status.progress.emplace().fraction = 0.01;
  EXPECT_EQ(EndedWithoutAStep(job, ended), "") << "whether it ended too early says the coordinator";
}

TEST(Render, TheSummarySaysWhatTuningDid) {
  JobView done = Training();
  done.outcome = JobView::Outcome::kSucceeded;
  const Screen screen{.width = 80, .height = 24, .color = false, .unicode = true};
  EXPECT_THAT(RenderSummary(done, screen), Not(HasSubstr("tuning")));
  done.tuned = "1 x 1 at 353k \u2192 2 x 6 at 1.51M words/s, 4.28 times as fast, 4 changes";
  EXPECT_THAT(RenderSummary(done, screen), HasSubstr("\n  tuning        " + done.tuned + " (servers x workers)\n"));
}

TEST(Render, AnErrorIsRedAndWhole) {
  const Screen screen{.width = 60, .height = 24, .color = true, .unicode = true};
  const auto lines = Render(BadDay(), screen, kNow);
  std::string red;
  for (const std::string& line : lines) {
    if (line.starts_with("\x1b[31m")) red += line.substr(5, line.size() - 9) + " ";
  }
  EXPECT_THAT(red, HasSubstr("correct spec.workers.template.spec.containers[0].command"));
  JobView failed = Training();
  failed.outcome = JobView::Outcome::kFailed;
  failed.failure = "worker 0 failed 4 times, and that is once more than is allowed. Last lines of its log:\n  a  b";
  const std::string summary = RenderSummary(failed, screen);
  EXPECT_THAT(summary, HasSubstr("\x1b[31mworker 0 failed 4 times, and that is once more than is\x1b[0m\n"));
  EXPECT_THAT(summary, HasSubstr("\n  a  b\n")) << "a log's lines are left as they are";
}

TEST(Render, WhereNotAllPodsFitTheWorstComeFirst) {
  const Screen screen{.width = 80, .height = 20, .color = false, .unicode = true};
  JobView view = BadDay();
  view.errors.clear();
  const std::string text = Text(Render(view, screen, kNow));
  const size_t failed = text.find("  worker-5"), pending = text.find("  worker-2   "), slow = text.find("  worker-4");
  ASSERT_NE(slow, std::string::npos) << text;
  EXPECT_LT(failed, pending);
  EXPECT_LT(pending, slow);
  EXPECT_THAT(text, HasSubstr("more pods"));
}

TEST(Render, PodsAreNamedWithoutTheirJobWhereTheWholeTableDoesNotFit) {
  Screen screen{.width = 80, .height = 30, .color = false, .unicode = true};
  EXPECT_THAT(Text(Render(Training(), screen, kNow)), HasSubstr("\n  word2vec-worker-1 "));
  screen.width = 66;
  const std::string text = Text(Render(Training(), screen, kNow));
  EXPECT_THAT(text, HasSubstr("\n  worker-1 "));
  EXPECT_THAT(text, HasSubstr("CPU\n")) << "the last column is there, whole";
}

TEST(Render, WhereOnePodFitsItIsTheWorstAndNotTheNamesOfColumns) {
  const Screen screen{.width = 40, .height = 20, .color = false, .unicode = true};
  const std::string text = Text(Render(BadDay(), screen, kNow));
  EXPECT_THAT(text, HasSubstr("\n  worker-5  "));
  EXPECT_THAT(text, HasSubstr("\n  ... and 8 more pods\n"));
  EXPECT_THAT(text, Not(HasSubstr("STATE")));
}

TEST(Render, APartThatIsWiderThanTheScreenIsWrapped) {
  Screen screen{.width = 40, .height = 20, .color = false, .unicode = true};
  EXPECT_THAT(Text(Render(Moving(), screen, kNow)), HasSubstr("pace SSP(4), waiting for worker-1\n"));
  screen.width = 28;
  EXPECT_THAT(Text(Render(Moving(), screen, kNow)), HasSubstr("pace SSP(4), waiting for\nworker-1\n"));
}

TEST(Render, OneRemainingTimeIsShown) {
  JobView view = Training();
  view.tuning_stage = "Keeping";
  view.tuning = "keeping 2 servers";
  view.remaining_low = 50;
  view.remaining_high = 80;
  const Screen screen{.width = 100, .height = 24, .color = false, .unicode = true};
  std::string text = Text(Render(view, screen, kNow));
  EXPECT_THAT(text, HasSubstr("1m20s left"));
  EXPECT_THAT(text, Not(HasSubstr("50s to 1m20s left")));
  view.remaining_seconds.reset();
  EXPECT_THAT(Text(Render(view, screen, kNow)), HasSubstr("50s to 1m20s left"));
  view.remaining_seconds = 0;
  EXPECT_THAT(Text(Render(view, screen, kNow)), AllOf(HasSubstr("finishing"), Not(HasSubstr(" left"))));
}

TEST(Trend, KeepsTheWholeWayInABoundedNumberOfValues) {
  Trend trend;
  for (int i = 0; i < 10'000; ++i) trend.Add(i);
  trend.Add(std::nullopt);
  EXPECT_LT(trend.values().size(), Trend::kValuesMax);
  EXPECT_GE(trend.values().size(), Trend::kValuesMax / 2);
  EXPECT_LT(trend.values().front(), 100);
  EXPECT_GT(trend.values().back(), 9'800);
  EXPECT_TRUE(std::is_sorted(trend.values().begin(), trend.values().end()));
}

TEST(Sparkline, RisesWithItsValues) {
  EXPECT_EQ(Sparkline({1, 2, 3, 4}, 4, true), "\u2581\u2583\u2586\u2588");
  EXPECT_EQ(Sparkline({1, 2, 3, 4}, 2, false), "_#");
  EXPECT_EQ(Sparkline({5, 5, 5}, 3, false), "===");
  EXPECT_EQ(Sparkline({1}, 10, true), "");
  EXPECT_EQ(Sparkline({1, 2}, 1, true), "");
}

TEST(ShortPath, NamesWhatLiesBelowFromThere) {
  EXPECT_EQ(ShortPath("/home/a/runs/1/model", "/home/a"), "runs/1/model");
  EXPECT_EQ(ShortPath("/home/ab/runs", "/home/a"), "/home/ab/runs");
  EXPECT_EQ(ShortPath("/home/a", "/home/a"), "/home/a");
  EXPECT_EQ(ShortPath("/runs/1", "/"), "/runs/1");
  EXPECT_EQ(ShortPath("", ""), "");
}

TEST(WrapText, BreaksAtSpacesAndLosesNothing) {
  EXPECT_EQ(WrapText("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(WrapText("abcdefghij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(WrapText("exactly", 7), (std::vector<std::string>{"exactly"}));
}

TEST(Render, EveryLineFitsEveryScreen) {
  for (int width = 1; width <= 130; ++width) {
    for (const int height : {4, 5, 8, 10, 14, 40}) {
      for (const bool color : {false, true}) {
        for (const JobView& view : {Training(), BadDay()}) {
          const auto lines = Render(view, {.width = width, .height = height, .color = color, .unicode = true}, kNow);
          EXPECT_LE(lines.size(), static_cast<size_t>(height - 1)) << width << "x" << height;
          for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
        }
      }
    }
  }
}

TEST(Render, ManyPodsAreCutWithWords) {
  JobView view = Training();
  for (int i = 3; i < 60; ++i)
    view.pods.push_back({"word2vec-worker-" + std::to_string(i), "worker", "Ready", {}, {}, {}, {}});
  const std::string text = Text(Render(view, {.width = 80, .height = 24, .color = false, .unicode = true}, kNow));
  EXPECT_THAT(text, HasSubstr("more pods"));
  EXPECT_THAT(text, HasSubstr("workers 2 -> 3"));
}

TEST(Render, ColorsOnlyWhereTheyAreWanted) {
  const Screen plain{.width = 80, .height = 24, .color = false, .unicode = true};
  const Screen color{.width = 80, .height = 24, .color = true, .unicode = true};
  EXPECT_THAT(Text(Render(Training(), plain, kNow)), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Text(Render(Training(), color, kNow)), HasSubstr("\x1b[32mRunning\x1b[0m"));
}

TEST(Render, TextFromOutsideCannotMoveTheCursor) {
  JobView view = Training();
  view.events.back().note = "a\x1b[2Jb\nc";
  const std::string text = Text(Render(view, {.width = 80, .height = 24, .color = false, .unicode = true}, kNow));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a [2Jb c"));
}

TEST(Render, FiguresOfTheModelStandBesideTheLoss) {
  JobView view;
  view.name = "word2vec";
  view.phase = "Running";
  view.loss = 2.5;
  view.metrics = {{.name = "held_out_loss",
                   .value = 3.214,
                   .at = {.step = 900, .epoch = 45},
                   .best = 3.187,
                   .best_at = {.step = 800, .epoch = 41}},
                  {.name = "recall", .value = 0.5, .at = {}, .best = 0.5, .best_at = {}},
                  {.name = "never_finite", .at = {}, .best_at = {}, .left_out = 2}};
  const std::string text = testing::PrintToString(Render(view, {.width = 100, .height = 24}, 0));
  EXPECT_NE(text.find("held_out_loss 3.214 (best 3.187 at epoch 41)"), std::string::npos) << text;
  EXPECT_NE(text.find("recall 0.5"), std::string::npos) << text;
  EXPECT_EQ(text.find("never_finite"), std::string::npos) << text;
  EXPECT_NE(RenderPlain(view, 0).find("  held_out_loss 3.214"), std::string::npos);
  EXPECT_EQ(kube::Json::parse(RenderJson(view, 0))["metrics"], kube::Json({{"held_out_loss", 3.214}, {"recall", 0.5}}));
}

TEST(Render, PlainLinesSummariesAndJson) {
  setenv("TZ", "UTC", 1);
  std::string all = "--- plain\n" + RenderPlain(Training(), kNow) + "\n";
  JobView done = Training();
  done.outcome = JobView::Outcome::kSucceeded;
  done.phase = "Succeeded";
  done.ended = kNow;
  done.fraction = 1;
  done.result = api::JobResult{
      {{"held_out_loss", 3.2031}}, "mutex: lock_guard, unique_lock\nvector: deque, list", "/runs/word2vec/model"};
  all += RenderPlain(done, kNow) + "\n--- succeeded\n" + RenderSummary(done, {});
  JobView failed = Training();
  failed.outcome = JobView::Outcome::kFailed;
  failed.ended = kNow;
  failed.failure = "worker 0 failed 4 times (backoffLimit 3); last lines of its log:\n  no such directory: /corpus";
  all += "--- failed\n" + RenderSummary(failed, {});
  JobView gone = Training();
  gone.outcome = JobView::Outcome::kDeleted;
  all += "--- deleted\n" + RenderSummary(gone, {});
  all += "--- json\n" + RenderJson(Training(), kNow) + "\n" + RenderJson(done, kNow) + "\n";
  ExpectGolden(all, "render-plain.txt");
}

TEST(Table, LooksLikeKubectl) {
  const kube::Json job = kube::Json::parse(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "word2vec", "namespace": "default", "creationTimestamp": "2027-01-15T08:00:00Z"},
    "spec": {"workers": {}},
    "status": {"phase": "Running", "servers": {"replicas": 2, "ready": 2}, "workers": {"replicas": 3, "ready": 2},
               "progress": {"fraction": 0.475, "epoch": 0, "epochs": 1, "loss": 3.1172, "rate": 181400,
                            "sampleUnit": "words", "remainingSeconds": 80}}})");
  ExpectGolden(Text(FormatTable(JobTable({job}, false, kNow))) + Text(FormatTable(JobTable({job}, true, kNow))),
               "get.txt");
}

TEST(DisplayWidth, CountsWhatIsSeen) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\x1b[32mab\x1b[0m"), 2);
  EXPECT_EQ(DisplayWidth("\u2501\u2500"), 2);
}

}  // namespace
}  // namespace attune::cli::render_test
