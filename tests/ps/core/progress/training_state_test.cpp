#include "ps/core/progress/training_state.h"

#include <gtest/gtest.h>

#include <chrono>

namespace attune::ps::training_state_test {
namespace {

using std::chrono::seconds;
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + seconds(time); }

JobGoal WithTarget(double threshold) {
  JobGoal goal;
  goal.target_loss = threshold;
  goal.best_checkpoint = BestCheckpointRule{.metric = "held_out_loss"};
  return goal;
}
// Windows of one second.
void Train(TrainingState& training, double loss, int windows) {
  training.Begin(At(0));
  for (int i = 1; i <= windows; ++i) {
    training.AddLoss(loss, 1);
    training.CloseWindow(At(i));
  }
}

TEST(TrainingState, TimeCountsFromTheFirstWorkerWithWhatACheckpointHadTrained) {
  TrainingState training({}, seconds(1));
  EXPECT_FALSE(training.TrainedFor(At(5)));
  EXPECT_EQ(training.TrainedSeconds(At(5)), 0);
  training.NoteWorker(60, At(100));
  training.NoteWorker(0, At(200));
  EXPECT_EQ(training.TrainedFor(At(110)), seconds(70));
}

TEST(TrainingState, AGoalIsReachedByTheSmoothedLoss) {
  const JobGoal goal = WithTarget(0.5);
  TrainingState training(goal, seconds(1));
  Train(training, 0.25, 5);
  EXPECT_EQ(training.ReachedGoal(goal, nullptr, 0, At(5)), "loss 0.250000 reached the target 0.500000");
}

TEST(TrainingState, ThatReportsAreRefusedIsSaidOnce) {
  TrainingState training({}, seconds(1));
  EXPECT_TRUE(training.MayReportRefusal());
  EXPECT_FALSE(training.MayReportRefusal());
}

TEST(TrainingState, ABetterReportMakesACheckpointDue) {
  TrainingState training(WithTarget(0), seconds(1));
  EXPECT_FALSE(training.BestIsDue(At(0), false));
  ASSERT_TRUE(training.Report("held_out_loss", 3.2, {.epoch = 1}, At(0)).ok());
  EXPECT_TRUE(training.BestIsDue(At(0), false));
  training.BeginBest();
  EXPECT_FALSE(training.BestIsDue(At(0), false));
  training.EndBest(training.MarkBest("/best", 4), At(1), seconds(1));
  ASSERT_TRUE(training.best());
  EXPECT_EQ(training.best()->value, 3.2);
  EXPECT_FALSE(training.WouldBeBest());
}

TEST(TrainingState, ASuccessorContinuesFromTheRecord) {
  const JobGoal goal = WithTarget(0.5);
  TrainingState before(goal, seconds(1));
  before.NoteWorker(0, At(0));
  Train(before, 0.25, 5);
  ASSERT_TRUE(before.Report("held_out_loss", 3.2, {.epoch = 1}, At(5)).ok());
  before.EndBest(before.MarkBest("/best", 4), At(5), seconds(1));
  CoordinatorRecord record;
  record.goal = goal;
  before.Fill(record, At(5));
  TrainingState after({}, seconds(1));
  after.Restore(record, At(1000));
  EXPECT_EQ(after.smoothed_loss(), before.smoothed_loss());
  EXPECT_EQ(after.metrics(), before.metrics());
  EXPECT_EQ(after.best(), before.best());
  EXPECT_EQ(after.TrainedFor(At(1001)), seconds(6));
  EXPECT_NE(after.ReachedGoal(goal, nullptr, 0, At(1001)), "");
}

TEST(TrainingState, WhatCountsOfACheckpointReplacesWhatItsManifestSays) {
  JobGoal goal = WithTarget(0);
  TrainingState before(goal, seconds(1));
  ASSERT_TRUE(before.Report("held_out_loss", 3.2, {.epoch = 1}, At(0)).ok());
  before.EndBest(before.MarkBest("/best", 4), At(0), seconds(1));
  CutRecord resume;
  before.Fill(resume, At(0));
  TrainingState same(goal, seconds(1));
  CutRecord kept = resume;
  same.ResumeFrom(kept);
  EXPECT_TRUE(kept.best);
  goal.best_checkpoint->maximize = true;
  TrainingState other(goal, seconds(1));
  other.ResumeFrom(resume);
  EXPECT_FALSE(resume.best) << "it was the best by another rule";
}

}  // namespace
}  // namespace attune::ps::training_state_test
