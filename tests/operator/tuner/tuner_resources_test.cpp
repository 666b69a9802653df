// Limits of CPU and memory as knobs, and what a setting costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "operator/tuner/tuner.h"

namespace attune::tuner::tuner_resources_test {
namespace {

// A step takes a worker one second of CPU on two threads, and 0.2 s of waiting; servers are never short.
struct Simulated {
  double seconds = 0, throttled = 0, use = 0;  // per update; of the workers
};

Simulated At(const Setting& s) {
  constexpr double kWork = 1, kThreads = 2, kWait = 0.2;
  const double workers = s[0], cores = 1e-3 * s[1];
  const double running = kWork / kThreads, limited = std::max(running, kWork / cores);
  const double turn = limited + kWait;
  return {turn / workers, (limited - running) / turn, kWork / (turn * cores)};
}

JobDescription Job(int cores) {
  JobDescription job;
  job.space.knobs = {{"workers", 1, 4}, {"worker_millicores", 250, 4000}};
  job.space.current = Setting{2, cores};
  job.goal = {.kind = GoalKind::kSteps, .target = 4000};
  job.costs = {.live = 0.2, .relocation = 2, .pods = 5, .crash = 40};
  job.window_seconds = 10;
  return job;
}

struct Played {
  double seconds = 0, core_seconds = 0;
  std::vector<Setting> path;
};

Played Play(Tuner& tuner, Setting here, double steps_to_go, bool telemetry = true) {
  Random random(5);
  Played played;
  while (steps_to_go > 0) {
    const Decision decision = tuner.Decide(played.seconds, here);
    if (decision.setting != here) played.path.push_back(decision.setting);
    here = decision.setting;
    const Simulated truth = At(here);
    played.seconds += decision.seconds;
    played.core_seconds += decision.seconds * here[0] * here[1] * 1e-3;
    Report report{.setting = here,
                  .time = played.seconds,
                  .seconds = decision.seconds,
                  .steps = decision.seconds / truth.seconds * std::exp(0.03 * random.Normal())};
    if (telemetry) {
      report.worker_throttled = truth.throttled;
      report.worker_cpu = truth.use;
    }
    EXPECT_TRUE(tuner.Absorb(report).ok());
    steps_to_go -= report.steps;
  }
  return played;
}

TEST(TunerResourcesTest, AThrottledWorkerIsSeenAtOnce) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(250), priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  const Played played = Play(*tuner, {2, 250}, 4000);
  ASSERT_FALSE(played.path.empty());
  EXPECT_GE(played.path.front()[1], 1250) << "its first change gives workers the cores that they want";
  EXPECT_LE(played.path.size(), 6U);
  EXPECT_LT(played.seconds, 1.15 * At({4, 4000}).seconds * 4000);
}

TEST(TunerResourcesTest, WithoutReadingsItTakesMoreTrials) {
  size_t with = 0, without = 0;
  for (const int cores : {250, 1000, 4000}) {
    PriorCache priors;
    auto seeing = Tuner::Create(Job(cores), priors), blind = Tuner::Create(Job(cores), priors);
    ASSERT_TRUE(seeing.ok() && blind.ok());
    with += Play(*seeing, {2, cores}, 4000).path.size();
    without += Play(*blind, {2, cores}, 4000, false).path.size();
  }
  EXPECT_LT(with, without);
}

TEST(TunerResourcesTest, IdleCoresAreGivenBackAndTheRateIsKept) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(4000), priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  const Played played = Play(*tuner, {2, 4000}, 4000);
  ASSERT_FALSE(played.path.empty());
  const Setting& end = played.path.back();
  EXPECT_EQ(end[0], 4);
  EXPECT_LE(end[1], 2600) << "1.4 cores are used, 2 while it computes";
  EXPECT_LT(At(end).seconds, 1.03 * At({4, 4000}).seconds);
  EXPECT_LT(played.seconds, 1.15 * At({4, 4000}).seconds * 4000);
}

TEST(TunerResourcesTest, AtTheLeastCostCoresThatAreNotUsedAreGivenBack) {
  PriorCache priors;
  JobDescription job = Job(4000);
  job.objective.kind = ObjectiveKind::kCost;
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  const Played played = Play(*tuner, {2, 4000}, 4000);
  double cheapest = 1e9;
  for (int workers = 1; workers <= 4; ++workers) {
    for (const int cores : tuner->space().levels(1))
      cheapest = std::min(cheapest, At({workers, cores}).seconds * workers * cores * 1e-3);
  }
  EXPECT_LT(played.core_seconds, 1.2 * cheapest * 4000);
}

TEST(TunerResourcesTest, ABudgetBuysAsMuchSpeedAsItCan) {
  const auto seconds_for = [](double budget) {
    PriorCache priors;
    JobDescription job = Job(1000);
    job.objective = {.kind = ObjectiveKind::kTimeUnderBudget, .budget = budget};
    auto tuner = Tuner::Create(job, priors);
    EXPECT_TRUE(tuner.ok()) << tuner.status();
    const Played played = Play(*tuner, {2, 1000}, 4000);
    EXPECT_LT(played.core_seconds / 3600, 1.1 * budget) << budget;
    return played.seconds;
  };
  // An update takes one core-second at least; 0.2 s of each are waited.
  const double tight = seconds_for(4000 * 1.35 / 3600), ample = seconds_for(4000 * 6.0 / 3600);
  EXPECT_LT(ample, 0.8 * tight);
}

TEST(TunerResourcesTest, ThereIsAListToChooseFrom) {
  PriorCache priors;
  auto tuner = Tuner::Create(Job(1000), priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  EXPECT_TRUE(tuner->Tradeoffs(10).empty()) << "nothing was looked at";
  Play(*tuner, {2, 1000}, 2000);
  const auto choices = tuner->Tradeoffs(5);
  ASSERT_GE(choices.size(), 3U);
  ASSERT_LE(choices.size(), 5U);
  for (size_t i = 1; i < choices.size(); ++i) {
    EXPECT_GE(choices[i].relative_time, choices[i - 1].relative_time);
    EXPECT_LT(choices[i].relative_cost, choices[i - 1].relative_cost);
  }
  for (const SettingBelief& choice : choices) EXPECT_GT(choice.price_per_hour, 0);
}

// Half the memory for each server is twice the share of it.
TEST(TunerResourcesTest, MemoryIsReadAgainstTheLimitThatASettingHas) {
  PriorCache priors;
  JobDescription job = Job(1000);
  job.space.knobs = {{"servers", 1, 4}, {"server_memory_mib", 256, 4096}};
  job.space.current = Setting{2, 1024};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  for (int window = 1; window <= 4; ++window) {
    ASSERT_TRUE(tuner
                    ->Absorb({.setting = {2, 1024},
                              .time = 10.0 * window,
                              .seconds = 10,
                              .steps = 100,
                              .server_memory = 0.6,
                              .worker_memory = 0.1})
                    .ok());
  }
  tuner->Decide(40, {2, 1024});
  int smaller = 0, larger = 0;
  for (const SettingBelief& belief : tuner->Beliefs(1000)) {
    if (belief.setting[0] != 2) continue;
    if (belief.setting[1] <= 512) {
      ++smaller;
      EXPECT_GT(belief.crash_probability, 0.9) << belief.setting[1];
    } else if (belief.setting[1] >= 1024) {
      ++larger;
      EXPECT_LT(belief.crash_probability, 0.02) << belief.setting[1];
    }
  }
  EXPECT_GE(smaller, 2);
  EXPECT_GE(larger, 3);
}

TEST(TunerResourcesTest, ReadingsAndPricesSurviveARestart) {
  PriorCache priors;
  JobDescription job = Job(250);
  job.objective = {.kind = ObjectiveKind::kTimeUnderBudget, .prices = {{"worker_millicores", 2}}, .budget = 9};
  auto tuner = Tuner::Create(job, priors);
  ASSERT_TRUE(tuner.ok()) << tuner.status();
  const double now = Play(*tuner, {2, 250}, 1000).seconds;
  const std::string state = tuner->Save();
  auto again = Tuner::Load(state, priors);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Save(), state);
  EXPECT_EQ(again->Decide(now, {2, 250}).setting, tuner->Decide(now, {2, 250}).setting);
  const auto mine = tuner->Tradeoffs(3), others = again->Tradeoffs(3);
  ASSERT_EQ(mine.size(), others.size());
  for (size_t i = 0; i < mine.size(); ++i) EXPECT_EQ(mine[i].price_per_hour, others[i].price_per_hour);
}

}  // namespace
}  // namespace attune::tuner::tuner_resources_test
