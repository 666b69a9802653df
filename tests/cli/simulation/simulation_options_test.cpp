// What becomes of a manifest, options and an earlier run, and how the outcome is shown.
#include "cli/simulation/simulation_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/simulation/simulation_text.h"
#include "tests/cli/golden.h"

namespace attune::cli::simulation_options_test {
namespace {

using ::testing::HasSubstr;

api::TrainingJob Job(api::TuningMode mode = api::TuningMode::kAuto) {
  api::TrainingJob job;
  job.name = "word2vec";
  job.spec.goal.epochs = 4;
  job.spec.servers.replicas = 1;
  job.spec.workers.replicas = 2;
  job.spec.tuning.mode = mode;
  return job;
}

std::string SourceOf(const PlannedSimulation& planned, const std::string& name) {
  for (const Assumption& each : planned.assumptions) {
    if (each.name == name) return each.source;
  }
  return "not said";
}

TEST(SimulationOptions, WhatIsNotSaidHasADefaultThatIsNamed) {
  const auto planned = PlanSimulation(Job(), {}, std::nullopt, 5);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.seed, 5U);
  EXPECT_EQ(planned->plan.total_steps, 4000);
  EXPECT_EQ(planned->plan.job.wanted.workers, 2);
  EXPECT_EQ(SourceOf(*planned, "computing"), "default");
  EXPECT_EQ(SourceOf(*planned, "goal"), "spec.goal.epochs; samples: default");
}

TEST(SimulationOptions, WhatIsSaidCountsAndIsNamed) {
  const SimulateArguments arguments = {
      .samples_per_second = 500, .samples_per_step = 50, .machine_cores = 8, .epochs = 2, .samples = 1000, .seed = 9};
  const auto planned = PlanSimulation(Job(), arguments, std::nullopt, 5);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.seed, 9U);
  EXPECT_EQ(planned->plan.model.StepSeconds(), 0.1);
  EXPECT_EQ(planned->plan.model.machine_cores, 8);
  EXPECT_EQ(planned->plan.total_steps, 40);
  EXPECT_EQ(SourceOf(*planned, "computing"), "--samples-per-second");
  EXPECT_EQ(SourceOf(*planned, "goal"), "--epochs; samples: --samples");
}

TEST(SimulationOptions, MistakesSayWhatToWriteInstead) {
  api::TrainingJob paused = Job();
  paused.spec.tuning.paused = true;
  const struct {
    const char* name;
    api::TrainingJob job;
    SimulateArguments arguments;
    const char* want;
  } kCases[] = {
      {"a job that is not tuned", Job(api::TuningMode::kOff), {}, "--tune auto simulates what the tuner would do"},
      {"a tuner that is paused", paused, {}, "tuning of job word2vec is paused (spec.tuning.paused)"},
      {"a mode that there is not", Job(), {.tune = "fast"}, "--tune fast: write recommend, initial, inplaceonly"},
      {"a mode in which nothing happens", Job(), {.tune = "off"}, "--tune off: write recommend"},
      {"a share beyond all", Job(), {.memory_bound = 1.5}, "--memory-bound 1.5: write a number from 0 to 1"},
      {"no speed at all", Job(), {.samples_per_second = 0}, "--samples-per-second 0: write a number from"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    const auto planned = PlanSimulation(each.job, each.arguments, std::nullopt, 1);
    ASSERT_FALSE(planned.ok());
    EXPECT_THAT(std::string(Message(planned.status())), HasSubstr(each.want));
  }
}

TEST(SimulationOptions, AModeOnTheCommandLineOverrulesOffAndPaused) {
  api::TrainingJob job = Job(api::TuningMode::kOff);
  job.spec.tuning.paused = true;
  const auto planned = PlanSimulation(job, {.tune = "recommend"}, std::nullopt, 1);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.job.policy.mode, api::TuningMode::kRecommend);
  EXPECT_FALSE(planned->plan.job.policy.paused);
}

// Ten seconds with two workers, one without a rate, two with four workers.
RunHistory History() {
  RunHistory history{.name = "word2vec", .sample_unit = "words"};
  for (int i = 0; i <= 12; ++i) {
    RunPoint point{.time = 100.0 + i, .servers = 1, .workers = i > 10 ? 4 : 2};
    if (i != 5) point.rate = i > 10 ? 5000 : 3000;
    point.steps = 30.0 * i;
    point.fraction = i / 24.0;
    history.points.push_back(point);
  }
  return history;
}

TEST(RecordedFigures, SpeedIsTakenWhereTheRunTrainedLongest) {
  const auto figures = FiguresOf(History(), "word2vec-1");
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(figures->setting.workers, 2);
  EXPECT_EQ(figures->samples_per_second, 3000);
  EXPECT_NEAR(figures->samples_per_step, (9 * 3000 + 2 * 5000) / (11 * 30.0), 1e-9);
  EXPECT_NEAR(figures->samples, 2 * (9 * 3000 + 2 * 5000), 1e-6);
}

TEST(RecordedFigures, ARunWithoutASpeedSaysWhatElseMayBeDone) {
  const auto figures = FiguresOf({.name = "word2vec"}, "word2vec-1");
  EXPECT_EQ(figures.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(figures.status())), HasSubstr("--samples-per-second"));
}

TEST(SimulationOptions, AModelFromARunIsAsFastAsTheRunWas) {
  const auto figures = FiguresOf(History(), "word2vec-1");
  ASSERT_TRUE(figures.ok()) << figures.status();
  const auto planned = PlanSimulation(Job(), {}, *figures, 1);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const JobModel& model = planned->plan.model;
  const double steps = FiguresAt(model, {.servers = 1, .workers = 2}, SyncMode::Async()).steps_per_second;
  EXPECT_NEAR(steps * model.samples_per_step, 3000, 1e-6);
  EXPECT_EQ(SourceOf(*planned, "computing"), "run word2vec-1");
  EXPECT_EQ(SourceOf(*planned, "goal"), "spec.goal.epochs; samples: run word2vec-1");
}

// A story of two changes, made by hand: what the tuner itself decides differs between compilers in the last digits.
SimulationResult Story() {
  const auto change = [](double time, tuner::Setting from, tuner::Setting to, double expected, double measured,
                         double model, tuner::Verdict verdict) {
    SimulatedChange made{.record = {.knobs = {"servers", "workers"}, .record = {}}, .model_gain = model};
    tuner::DecisionRecord& record = made.record.record;
    record.time = time;
    record.from = record.incumbent = std::move(from);
    record.to = std::move(to);
    record.predicted = {.mean = expected, .deviation = 0.2};
    record.measured = tuner::Gain{.mean = measured, .deviation = 0.03};
    record.verdict = verdict;
    return made;
  };
  SimulationResult result;
  result.changes = {change(30, {1, 2}, {2, 6}, 0.8, 1.05, 1.02, tuner::Verdict::kKept),
                    change(65, {2, 6}, {2, 8}, 0.1, -0.06, -0.05, tuner::Verdict::kRejected)};
  result.tuned = {.setting = {.servers = 2, .workers = 6}, .seconds = 1000};
  result.untouched = {.setting = {.servers = 1, .workers = 2}, .seconds = 2600};
  result.best = {.setting = {.servers = 3, .workers = 6}, .seconds = 920};
  result.settings = 256;
  result.knobs = {{.name = "servers", .low = 1, .high = 16}, {.name = "workers", .low = 1, .high = 16}};
  return result;
}

TEST(SimulationText, TheOutputIsTheRecordedOne) {
  const auto planned = PlanSimulation(Job(), {.machine_cores = 8}, std::nullopt, 7);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::string text = SimulationText(*planned, Story());
  SimulationResult nothing = Story();
  nothing.changes.clear();
  nothing.tuned = nothing.untouched;
  nothing.message = "the job ends in about 40s, too short to try other settings";
  text += "---\n" + SimulationText(*planned, nothing);
  SimulationResult recommends = nothing;
  recommends.recommended = controller::JobSetting{.servers = 2, .workers = 6};
  ExpectGolden(text + "---\n" + SimulationText(*planned, recommends), "simulate.txt");
}

TEST(SimulationText, JsonHasTheSameForPrograms) {
  const auto planned = PlanSimulation(Job(), {}, std::nullopt, 7);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const kube::Json object = SimulationJson(*planned, Story());
  EXPECT_EQ(object["isModel"], true);
  EXPECT_EQ(object["seed"], 7);
  ASSERT_EQ(object["decisions"].size(), 2U);
  EXPECT_EQ(object["decisions"][0]["change"], "servers 1 -> 2, workers 2 -> 6");
  EXPECT_EQ(object["decisions"][1]["verdict"], "rejected");
  EXPECT_EQ(object["tuned"]["setting"]["workers"], 6);
  EXPECT_EQ(object["best"]["seconds"], 920);
}

TEST(SimulationText, ChangesNameKnobsAsCommandLinesDo) {
  tuner::NamedRecord named{.knobs = {"server_millicores", "servers", "slack", "workers"}, .record = {}};
  named.record.from = {500, 2, 0, 4};
  named.record.to = {1250, 2, tuner::kSlackAsync, 6};
  EXPECT_EQ(ChangeText(named), "workers 4 -> 6, pace bsp -> async, server-cpu 500m -> 1250m");
}

}  // namespace
}  // namespace attune::cli::simulation_options_test
