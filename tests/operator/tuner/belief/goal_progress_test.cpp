#include "operator/tuner/belief/goal_progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attune::tuner::goal_progress_test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(GoalProgressTest, TheClockBeginsWithTheFirstReportOrQuestion) {
  GoalProgress reported({.kind = GoalKind::kSteps, .target = 100});
  reported.Absorb(30, 10, 5);
  EXPECT_DOUBLE_EQ(reported.SinceStart(50), 30) << "the first window began at 20 s";
  EXPECT_DOUBLE_EQ(reported.TimeAt(30), 50);

  GoalProgress asked({.kind = GoalKind::kSteps, .target = 100});
  EXPECT_DOUBLE_EQ(asked.Advance(40), 0);
  asked.Absorb(60, 10, 5);
  EXPECT_DOUBLE_EQ(asked.age(), 20);
}

TEST(GoalProgressTest, TheClockNeverGoesBack) {
  GoalProgress progress({.kind = GoalKind::kSteps, .target = 100});
  EXPECT_FALSE(progress.IsOutOfOrder(-5)) << "before the first report any time will do";
  progress.Absorb(100, 10, 1);
  EXPECT_TRUE(progress.IsOutOfOrder(99));
  EXPECT_FALSE(progress.IsOutOfOrder(100)) << "two windows may end at once";
  progress.Notice(120);
  progress.Notice(110);
  EXPECT_DOUBLE_EQ(progress.last_time(), 120);
  EXPECT_DOUBLE_EQ(progress.Advance(105), 30) << "a late question is asked now";
  EXPECT_DOUBLE_EQ(progress.Advance(std::nan("")), 30);
}

TEST(GoalProgressTest, WhatIsLeftDependsOnTheGoal) {
  const struct {
    const char* what;
    Goal goal;
    double steps, seconds;  // left, after 40 steps in 10 s, at 0.5 s for each
  } cases[] = {
      {"a number of steps", {.kind = GoalKind::kSteps, .target = 100}, 60, 30},
      {"passes over the data", {.kind = GoalKind::kEpochs, .target = 2, .steps_per_epoch = 30}, 20, 10},
      {"a bound on steps comes first", {.kind = GoalKind::kSteps, .target = 100, .max_steps = 50}, 10, 5},
      {"a bound on steps that has passed is none", {.kind = GoalKind::kSteps, .target = 100, .max_steps = 30}, 60, 30},
      {"a bound on seconds comes first", {.kind = GoalKind::kSteps, .target = 100, .max_seconds = 12}, 60, 2},
      {"a loss alone ends no job by its steps", {.kind = GoalKind::kLoss, .target = 0.1}, kNever, kNever},
      {"a loss with a bound", {.kind = GoalKind::kLoss, .target = 0.1, .max_steps = 60}, 20, 10},
  };
  for (const auto& [what, goal, steps, seconds] : cases) {
    GoalProgress progress(goal);
    progress.Absorb(10, 10, 40);
    EXPECT_DOUBLE_EQ(progress.StepsToGo(), steps) << what;
    EXPECT_DOUBLE_EQ(progress.SecondsToGo(10, 0.5), seconds) << what;
  }
}

TEST(GoalProgressTest, AnEndingReplacesTheGoal) {
  GoalProgress steps({.kind = GoalKind::kSteps, .target = 100});
  steps.Absorb(10, 10, 40);
  steps.SetEnding(10, {.steps = 500, .seconds = 70});
  EXPECT_DOUBLE_EQ(steps.StepsToGo(), 500);
  EXPECT_DOUBLE_EQ(steps.SecondsToGo(10, 1), 70);

  GoalProgress loss({.kind = GoalKind::kLoss, .target = 0.1});
  loss.Absorb(10, 10, 40);
  loss.SetEnding(10, {.steps = 0});
  EXPECT_DOUBLE_EQ(loss.StepsToGo(), 1) << "a goal is positive";
  EXPECT_DOUBLE_EQ(loss.goal().target, 0.1);
}

TEST(GoalProgressTest, AMetricBecomesALossThatFalls) {
  const GoalProgress rises({.kind = GoalKind::kMetric, .target = 0.9});
  EXPECT_GT(rises.LossOf(0.5), rises.LossOf(0.8));
  EXPECT_DOUBLE_EQ(rises.LossOf(0.9), rises.TargetLoss());
  const GoalProgress falls({.kind = GoalKind::kMetric, .target = 20, .metric_falls = true});
  EXPECT_DOUBLE_EQ(falls.LossOf(35), 35);
  EXPECT_DOUBLE_EQ(falls.TargetLoss(), 20);
  EXPECT_FALSE(falls.CountsUpdates());
}

TEST(GoalProgressTest, ALoadedOneContinues) {
  const Goal goal{.kind = GoalKind::kSteps, .target = 100};
  GoalProgress progress(goal), loaded(goal);
  progress.Absorb(30, 10, 5);
  loaded.Load(progress.Save());
  EXPECT_DOUBLE_EQ(loaded.StepsToGo(), 95);
  EXPECT_DOUBLE_EQ(loaded.Advance(40), 20);
  EXPECT_DOUBLE_EQ(loaded.Save().seconds, 10);
}

}  // namespace
}  // namespace attune::tuner::goal_progress_test
