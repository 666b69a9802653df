// The tuner against models of jobs, and jobs of which it can make nothing.
#include "cli/simulation/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/simulation/simulated_job.h"

namespace attune::cli::simulation_test {
namespace {

using controller::JobSetting;
using ::testing::HasSubstr;

// An hour and more with one server and two workers, which may become four and eight.
SimulationPlan Plan(api::TuningMode mode = api::TuningMode::kAuto) {
  SimulationPlan plan;
  plan.total_steps = 40'000;
  plan.job.policy.mode = mode;
  plan.job.goal.steps = 40'000;
  plan.job.wanted = {.servers = 1, .workers = 2};
  plan.job.low = {.servers = 1, .workers = 1};
  plan.job.high = {.servers = 4, .workers = 8};
  plan.job.elastic_servers = plan.job.switches_modes = true;
  return plan;
}

TEST(Simulation, TheTunerFindsAFasterSettingAndItsTimeLiesBetweenTheManifestsAndTheBest) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SimulationPlan plan = Plan();
    plan.seed = seed;
    const auto result = Simulate(plan);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_FALSE(result->changes.empty());
    EXPECT_LT(result->tuned.seconds, 0.7 * result->untouched.seconds) << "seed " << seed;
    EXPECT_GT(result->tuned.seconds, 0.97 * result->best.seconds) << "seed " << seed;
    EXPECT_TRUE(result->tuned.reached);
    EXPECT_EQ(result->settings, 32);
  }
}

TEST(Simulation, EqualPlansGiveEqualResultsAndSeedsDoNot) {
  const auto a = Simulate(Plan()), b = Simulate(Plan());
  SimulationPlan other = Plan();
  other.seed = 99;
  const auto c = Simulate(other);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(a->tuned.seconds, b->tuned.seconds);
  EXPECT_EQ(a->changes.size(), b->changes.size());
  EXPECT_NE(a->tuned.seconds, c->tuned.seconds);
}

TEST(Simulation, ARecommendationTouchesNothing) {
  const auto result = Simulate(Plan(api::TuningMode::kRecommend));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->recommended.has_value()) << result->message;
  EXPECT_GT(result->recommended->workers, 2);
  EXPECT_TRUE(result->changes.empty());
  EXPECT_EQ(result->tuned.setting.workers, 2);
  EXPECT_NEAR(result->tuned.seconds / result->untouched.seconds, 1, 0.02);
}

TEST(Simulation, AShortJobIsLeftAloneAndSaysSo) {
  SimulationPlan plan = Plan();
  plan.total_steps = 500;
  plan.job.goal.steps = 500;
  const auto result = Simulate(plan);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->changes.empty());
  EXPECT_EQ(result->stage, "Unavailable");
  EXPECT_THAT(result->message, HasSubstr("too short"));
}

TEST(Simulation, AJobWithoutKnobsIsRefusedWithWhatToDo) {
  const auto in_place = Simulate(Plan(api::TuningMode::kInPlaceOnly));
  EXPECT_EQ(in_place.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(in_place.status())), HasSubstr("OfferThreads"));
  SimulationPlan pinned = Plan();
  pinned.job.policy.servers.pinned = 1;
  pinned.job.policy.workers.pinned = 2;
  EXPECT_THAT(std::string(Message(Simulate(pinned).status())), HasSubstr("servers=1 and workers=2 are pinned"));
}

TEST(Simulation, ThreadsAreTurnedWhereTheProgramOffersThem) {
  SimulationPlan plan = Plan(api::TuningMode::kInPlaceOnly);
  plan.job.threads_max = 8;
  plan.job.wanted.threads = 1;
  const auto result = Simulate(plan);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->tuned.setting.threads.value_or(0), 1);
  EXPECT_EQ(result->tuned.setting.workers, 2);
}

TEST(Simulation, LossAndMetricAreReachedWhereTheStepsAre) {
  SimulationPlan loss = Plan();
  loss.job.goal = {.target_loss = 0.5};
  SimulationPlan metric = Plan();
  metric.job.goal = {.target_metric = {.name = "accuracy", .value = 0.9, .direction = api::Direction::kMaximize}};
  for (const SimulationPlan& plan : {loss, metric}) {
    const auto result = Simulate(plan);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->tuned.reached);
    EXPECT_LT(result->tuned.seconds, 0.8 * result->untouched.seconds);
  }
}

TEST(Simulation, TheGreatestDurationEndsAJobBeforeItsGoal) {
  SimulationPlan plan = Plan();
  plan.job.goal.max_duration_seconds = 300;
  const auto result = Simulate(plan);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->untouched.reached);
  EXPECT_NEAR(result->untouched.seconds, 300 + SimulatedJob::StartSeconds(plan.model), 1e-6);
  EXPECT_GT(result->best.fraction, result->untouched.fraction);
  EXPECT_GT(result->tuned.fraction, result->untouched.fraction);
  EXPECT_LT(result->tuned.fraction, 1);
  EXPECT_LE(result->tuned.seconds, 300 + SimulatedJob::StartSeconds(plan.model) + 1e-3);
}

TEST(Simulation, TheObjectiveDecidesWhatIsBest) {
  SimulationPlan plan = Plan();
  plan.job.policy.objective.kind = api::ObjectiveKind::kCost;
  const auto cheap = Simulate(plan), fast = Simulate(Plan());
  ASSERT_TRUE(cheap.ok() && fast.ok());
  EXPECT_LT(cheap->best.cost, fast->best.cost);
  EXPECT_GT(cheap->best.seconds, fast->best.seconds);
}

TEST(SimulatedJob, ChangesComeAboutInStages) {
  SimulationPlan plan = Plan();
  plan.model.noise = 0;
  SimulatedJob job(plan);
  job.Change({.servers = 2, .workers = 4});
  job.Train(9);
  EXPECT_EQ(job.actual().workers, 2) << "the job runs on while pods start";
  EXPECT_FALSE(job.Look().settled);
  job.Train(2);
  EXPECT_EQ(job.actual().workers, 4);
  EXPECT_TRUE(job.Look().settled);
  EXPECT_TRUE(job.Look().rows_moving);
  job.Train(3);
  EXPECT_FALSE(job.Look().rows_moving);
  const uint64_t before = job.Look().steps;
  job.Train(100);
  const double rate = FiguresAt(plan.model, {.servers = 2, .workers = 4}, SyncMode::Async()).steps_per_second;
  EXPECT_NEAR(static_cast<double>(job.Look().steps - before), 100 * rate, 1);
}

TEST(SimulatedJob, TheGoalIsReachedWhenAllStepsAreMade) {
  SimulationPlan plan = Plan();
  plan.model.noise = 0;
  SimulatedJob job(plan);
  job.Finish();
  const double rate = FiguresAt(plan.model, plan.job.wanted, SyncMode::Async()).steps_per_second;
  EXPECT_TRUE(job.has_reached_goal());
  EXPECT_NEAR(job.seconds(), SimulatedJob::StartSeconds(plan.model) + plan.total_steps / rate, 0.01);
}

}  // namespace
}  // namespace attune::cli::simulation_test
