// The tuner's control loop against a job that exists only as a formula.
#include "operator/controller/tuning_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace attune::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// One prior for all tests: it takes a moment to make.
tuner::PriorCache& Priors() {
  static tuner::PriorCache cache;
  return cache;
}

// Steps per second of the whole job: servers starve workers, workers help until they do.
double Rate(const PodCounts& at) {
  const double seconds_per_step = 0.05 + 0.02 * at.workers / at.servers;
  return at.workers / seconds_per_step / (1 + 0.01 * at.servers * at.workers);
}

class FormulaJob {
 public:
  explicit FormulaJob(api::TuningMode mode) {
    input.policy.mode = mode;
    input.policy.window_seconds = 5;
    input.goal.steps = 300'000;
    input.wanted = {1, 1};
    input.low = {1, 1};
    input.high = {4, 8};
    input.elastic_servers = true;
    input.training = true;
    input.generation = 1;
    actual = input.wanted;
  }

  // One second of training, then one look.
  TuningOutput Tick() {
    input.time += 1;
    if (actual != input.wanted && !stuck && --change_left <= 0) actual = input.wanted;
    std::normal_distribution<double> noise(0, 0.03);
    if (input.training) input.steps += static_cast<uint64_t>(Rate(actual) * std::exp(noise(random)));
    input.settled = actual == input.wanted && !flicker;
    TuningOutput output = loop.Step(input, Priors());
    if (output.change && !user_overrides) Write(*output.change);
    for (const auto& tale : output.tales) tales += tale.reason + ": " + tale.note + "\n";
    return last = output;
  }
  void Write(const PodCounts& counts) {
    if (input.wanted == counts) return;
    input.wanted = counts;
    ++input.generation;
    ++writes;
    change_left = 3;
  }
  void Run(int seconds) {
    for (int i = 0; i < seconds; ++i) Tick();
  }
  void Restart() { loop = TuningLoop(last.status.state); }

  TuningInput input;
  TuningLoop loop;
  TuningOutput last;
  PodCounts actual;
  int writes = 0, change_left = 0;
  bool stuck = false, user_overrides = false, flicker = false;
  std::string tales;
  std::mt19937_64 random{7};
};

TEST(TuningLoop, FindsAMuchBetterSettingAndTellsTheStory) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(900);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.tales;
  EXPECT_GE(job.writes, 2);
  EXPECT_LE(job.writes, 30) << job.tales;
  EXPECT_EQ(job.last.status.stage, "Keeping") << job.last.status.message;
  EXPECT_THAT(job.tales, HasSubstr("TuningTrial: Trying "));
  EXPECT_THAT(job.tales, HasSubstr("TuningOutcome: "));
  EXPECT_EQ(static_cast<int>(job.last.status.changes), job.writes);
  ASSERT_TRUE(job.last.status.remaining_seconds.has_value());
  EXPECT_LT(*job.last.status.remaining_low, *job.last.status.remaining_high);
  EXPECT_LT(job.last.status.state.size(), TuningLoop::kStateBytesMax);
}

TEST(TuningLoop, RecommendTouchesNothingAndSaysWhatItWouldDo) {
  FormulaJob job(api::TuningMode::kRecommend);
  job.Run(120);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.actual, (PodCounts{1, 1}));
  ASSERT_TRUE(job.last.status.recommended_workers.has_value()) << job.last.status.message;
  EXPECT_GT(*job.last.status.recommended_workers, 1);
  EXPECT_THAT(job.last.status.message, HasSubstr("recommends "));
  EXPECT_THAT(job.tales, HasSubstr("TuningRecommended"));
}

TEST(TuningLoop, InitialStopsAtTheFirstSettingItKeeps) {
  FormulaJob job(api::TuningMode::kInitial);
  job.Run(600);
  EXPECT_EQ(job.last.status.stage, "Finished") << job.last.status.message;
  const int writes = job.writes;
  job.Run(300);
  EXPECT_EQ(job.writes, writes);
}

TEST(TuningLoop, InPlaceOnlySaysThatNothingCanChangeInPlace) {
  FormulaJob job(api::TuningMode::kInPlaceOnly);
  job.Run(60);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.last.status.stage, "Unavailable");
  EXPECT_THAT(job.last.status.message, HasSubstr("without other pods"));
}

TEST(TuningLoop, AShortJobIsLeftAlone) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps = 500;
  job.Run(30);
  EXPECT_EQ(job.writes, 0);
  EXPECT_EQ(job.last.status.stage, "Unavailable");
  EXPECT_THAT(job.last.status.message, HasSubstr("too short"));
}

TEST(TuningLoop, PausedLeavesEverythingAndResumesWithWhatItKnew) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(200);
  job.input.policy.paused = true;
  job.Tick();
  const int writes = job.writes;
  job.Run(100);
  EXPECT_EQ(job.writes, writes);
  EXPECT_EQ(job.last.status.stage, "Paused");
  job.input.policy.paused = false;
  job.Run(700);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.tales;
}

TEST(TuningLoop, APinnedKnobStaysAndTheOtherIsTuned) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.policy.servers.pinned = 1;
  job.Run(600);
  EXPECT_EQ(job.input.wanted.servers, 1);
  EXPECT_GT(job.input.wanted.workers, 1) << job.tales;
}

TEST(TuningLoop, PinningInTheMiddleKeepsWhatWasMeasured) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(200);
  job.input.policy.workers.pinned = 4;
  job.Write({job.input.wanted.servers, 4});
  job.Run(400);
  EXPECT_EQ(job.input.wanted.workers, 4) << job.tales;
}

TEST(TuningLoop, AnOperatorThatRestartsAnywhereCarriesOn) {
  for (const int at : {3, 9, 12, 20, 33, 47, 80}) {
    FormulaJob job(api::TuningMode::kAuto);
    job.Run(at);
    const uint64_t changes = job.last.status.changes;
    job.Restart();
    job.input.steps = 0;  // counters of the new process
    job.Run(600);
    EXPECT_GE(job.last.status.changes, changes);
    EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << "restarted after " << at << " s\n" << job.tales;
  }
}

TEST(TuningLoop, AStateThatCannotBeReadIsBegunAnew) {
  for (const char* state : {"x", "{}", R"({"version":1})", R"({"version":1,"stage":9})", "[]"}) {
    FormulaJob job(api::TuningMode::kAuto);
    job.loop = TuningLoop(state);
    job.Run(300);
    EXPECT_GE(job.writes, 1) << state;
  }
}

TEST(TuningLoop, ASettingThatDoesNotComeAboutIsGivenUpAndNotTriedAgain) {
  FormulaJob job(api::TuningMode::kAuto);
  while (job.writes == 0 && job.input.time < 300) job.Tick();
  ASSERT_EQ(job.writes, 1);
  const PodCounts impossible = job.input.wanted;
  job.stuck = true;
  job.Run(static_cast<int>(TuningLoop::kMovingPatience) + 5);
  EXPECT_THAT(job.tales, HasSubstr("TuningSettingFailed: " + ToString(impossible)));
  EXPECT_EQ(job.input.wanted, (PodCounts{1, 1}));
  job.stuck = false;
  job.change_left = 1;
  for (int i = 0; i < 600; ++i) {
    job.Tick();
    EXPECT_NE(job.input.wanted, impossible);
  }
}

TEST(TuningLoop, AFailureDuringATrialIsBlamedOnTheSetting) {
  FormulaJob job(api::TuningMode::kAuto);
  while (job.last.status.stage != "Trying" && job.input.time < 300) job.Tick();
  ASSERT_EQ(job.last.status.stage, "Trying");
  const PodCounts bad = job.input.wanted;
  ++job.input.failures;
  job.Tick();
  EXPECT_THAT(job.tales, HasSubstr("TuningSettingFailed: " + ToString(bad)));
  job.Run(600);
  EXPECT_NE(job.input.wanted, bad) << job.tales;
}

TEST(TuningLoop, AFailureWhileKeepingIsNobodysFault) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(700);
  ASSERT_EQ(job.last.status.stage, "Keeping");
  const PodCounts kept = job.input.wanted;
  ++job.input.failures;
  job.Run(20);
  EXPECT_THAT(job.tales, Not(HasSubstr("TuningSettingFailed")));
  EXPECT_EQ(job.input.wanted, kept);
}

TEST(TuningLoop, NoTrialIsJudgedBeforeAWholeWindowOfIt) {
  FormulaJob job(api::TuningMode::kAuto);
  for (int second = 0; second < 400; ++second) {
    job.Tick();
    // Now a worker's report is late, now a worker is away for a while.
    const int away = job.last.status.stage != "Trying" ? 0 : second % 20 == 0 ? 6 : second % 3 == 0 ? 1 : 0;
    job.flicker = away > 0;
    job.Run(away);
    job.flicker = false;
  }
  const std::string& tales = job.tales;
  ASSERT_THAT(tales, HasSubstr("TuningOutcome"));
  for (size_t at = tales.find("TuningOutcome"); at != std::string::npos; at = tales.find("TuningOutcome", at + 1)) {
    EXPECT_THAT(tales.substr(at, tales.find('\n', at) - at), HasSubstr("measured"));
  }
}

TEST(TuningLoop, SomebodyElsesChangeIsTakenUpNotFought) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(700);
  job.Write({2, 2});
  const int writes = job.writes;
  job.Run(4);
  EXPECT_EQ(job.writes, writes);
  EXPECT_THAT(job.last.status.message, HasSubstr("somebody chose 2 servers, 2 workers"));
}

TEST(TuningLoop, NothingHappensWithoutReports) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.training = false;
  job.Run(100);
  EXPECT_EQ(job.writes, 0);
  EXPECT_THAT(job.tales, IsEmpty());
  EXPECT_EQ(job.last.status.stage, "Learning");
}

TEST(TuningLoop, AClockThatGoesBackIsStoodStill) {
  FormulaJob job(api::TuningMode::kAuto);
  job.Run(100);
  job.input.time -= 50;
  job.Run(600);
  EXPECT_GT(Rate(job.input.wanted), 2.0 * Rate({1, 1})) << job.tales;
}

TEST(TuningLoop, EqualInputsGiveEqualDecisions) {
  FormulaJob a(api::TuningMode::kAuto), b(api::TuningMode::kAuto);
  a.Run(300);
  b.Run(300);
  EXPECT_EQ(a.tales, b.tales);
  EXPECT_EQ(a.last.status.state, b.last.status.state);
}

TEST(TuningLoop, WhatIsWrongStandsInTheStateAndIsTold) {
  FormulaJob job(api::TuningMode::kRecommend);
  job.input.server_figures.assign(1, {.cpu = 0.98, .memory = 0.2, .requests = 90});
  job.input.worker_figures.assign(1, {.cpu = 0.5, .memory = 0.2, .step_seconds = 0.1, .wait_share = 0.85});
  job.Run(60);
  const auto findings = TuningLoop::FindingsOf(job.last.status.state);
  ASSERT_EQ(findings.size(), 2u) << job.tales;
  EXPECT_THAT(findings[0], HasSubstr("HotServer: all 1 servers have no CPU left"));
  EXPECT_THAT(findings[1], HasSubstr("StarvedWorkers"));
  EXPECT_THAT(job.tales, HasSubstr("StarvedWorkers: workers wait for rows 85 %"));
  job.input.server_figures[0].cpu = job.input.worker_figures[0].wait_share = 0.3;
  job.Run(60);
  EXPECT_THAT(TuningLoop::FindingsOf(job.last.status.state), IsEmpty()) << job.last.status.state;
}

TEST(TuningLoop, AnUnreachedLossIsAGoalToo) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.goal.steps.reset();
  job.input.goal.target_loss = 0.1;
  uint64_t before = 0;
  for (int i = 0; i < 600; ++i) {
    job.Tick();
    const double loss = 0.05 + 2 / (1 + static_cast<double>(job.input.steps) / 3000);
    const auto steps = static_cast<double>(job.input.steps - before);
    before = job.input.steps;
    job.input.loss_sum += loss * steps;
    job.input.loss_weight += steps;
  }
  EXPECT_GE(job.writes, 1) << job.last.status.message;
}

}  // namespace
}  // namespace attune::controller
