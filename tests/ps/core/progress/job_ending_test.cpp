#include "ps/core/progress/job_ending.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace attune::ps::job_ending_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kAnna{8}, kBert{9};  // workers

class ReachedGoalTest : public testing::Test {
 protected:
  std::string Reached(const JobGoal& goal, const DataSet* trained = nullptr) const {
    return ReachedGoal(
        goal, {.verdict = verdict_, .trained = trained, .steps = steps_, .loss = loss_, .trained_for = trained_for_});
  }
  // Windows of one second with this mean each.
  void Windows(int windows, double mean) {
    MonotonicTime now{};
    loss_.Begin(now);
    for (int i = 0; i < windows; ++i) {
      loss_.Add(mean, 1);
      loss_.CloseWindow(now += seconds(1));
    }
  }

  std::string verdict_;
  uint64_t steps_ = 0;
  SmoothedLoss loss_{seconds(1)};
  std::optional<Duration> trained_for_;
};

TEST_F(ReachedGoalTest, TrainingContinuesUntilThereIsAReasonToEndIt) {
  EXPECT_EQ(Reached({.epochs = 3, .steps = 10, .target_loss = 0.5, .max_duration = seconds(60)}), "");
}

TEST_F(ReachedGoalTest, StepsOfAllWorkersCount) {
  steps_ = 9;
  EXPECT_EQ(Reached({.steps = 10}), "");
  steps_ = 10;
  EXPECT_EQ(Reached({.steps = 10}), "10 steps done");
}

TEST_F(ReachedGoalTest, TheSmoothedLossHasToReachTheTarget) {
  Windows(4, 0.25);
  EXPECT_EQ(Reached({.target_loss = 0.5}), "") << "a few windows are mostly noise";
  Windows(1, 0.25);
  EXPECT_EQ(Reached({.target_loss = 0.5}), "loss 0.250000 reached the target 0.500000");
}

TEST_F(ReachedGoalTest, TimeCountsFromTheFirstWorker) {
  EXPECT_EQ(Reached({.max_duration = Duration::zero()}), "") << "there was no worker yet";
  trained_for_ = seconds(60);
  EXPECT_EQ(Reached({.max_duration = seconds(60)}), "trained for 60 s");
}

TEST_F(ReachedGoalTest, EpochsOfTheFirstDataSetAreNamed) {
  LeaseId next{1};
  const DataSet one{.id = DataSetId(1), .name = "train", .asked = {}, .ledger = LeaseLedger(10, 1, 5, &next)};
  const DataSet two{.id = DataSetId(1), .name = "train", .asked = {}, .ledger = LeaseLedger(10, 2, 5, &next)};
  EXPECT_EQ(Reached({}, &one), "1 epoch done");
  EXPECT_EQ(Reached({}, &two), "2 epochs done");
}

TEST_F(ReachedGoalTest, WhatMetricsSayComesFirst) {
  verdict_ = "held_out_loss has not improved";
  steps_ = 10;
  EXPECT_EQ(Reached({.steps = 10}), verdict_);
}

TEST(JobEnding, BeforeTheGoalNothingIsDoneAndNoWorkerCounts) {
  JobEnding end;
  end.NoteLeft(kAnna);
  end.NoteLost(kBert);
  EXPECT_FALSE(end.goal_reached());
  EXPECT_FALSE(end.ClosingIsDone(true, false));
  EXPECT_EQ(end.closing_from(), NodeId());
}

TEST(JobEnding, WorkWithoutADataSetIsDoneWhenAWorkerHasLeftInOrder) {
  JobEnding end;
  end.Reach("10 steps done");
  EXPECT_FALSE(end.ClosingIsDone(false, false));
  end.NoteLeft(kAnna);
  EXPECT_TRUE(end.ClosingIsDone(false, false));
}

TEST(JobEnding, AWorkerThatIsLostHasToBeMadeUpForByALaterOne) {
  JobEnding end;
  end.Reach("10 steps done");
  end.NoteLost(kBert);
  end.NoteLeft(kAnna);
  EXPECT_FALSE(end.ClosingIsDone(false, false)) << "it was here before the other one was lost";
  end.NoteLeft(kBert);
  EXPECT_TRUE(end.ClosingIsDone(false, false));
}

TEST(JobEnding, WorkWithADataSetIsDoneWithItsItemsWhateverWorkersDo) {
  JobEnding end;
  end.Reach("10 steps done");
  EXPECT_TRUE(end.ClosingIsDone(true, false));
  end.NoteLeft(kAnna);
  EXPECT_FALSE(end.ClosingIsDone(true, true));
}

TEST(JobEnding, ThatItWaitsIsReportedOnceAndAgainAfterALoss) {
  JobEnding end;
  end.Reach("10 steps done");
  EXPECT_TRUE(end.MayReport());
  EXPECT_FALSE(end.MayReport());
  end.NoteLost(kBert);
  EXPECT_TRUE(end.MayReport());
}

TEST(JobEnding, ASuccessorContinuesFromTheRecord) {
  JobEnding before, after;
  before.Reach("10 steps done");
  before.NoteLost(kBert);
  after.Restore(before.goal(), before.closing_from());
  EXPECT_TRUE(after.goal_reached());
  after.NoteLeft(kAnna);
  EXPECT_FALSE(after.ClosingIsDone(false, false));
}

}  // namespace
}  // namespace attune::ps::job_ending_test
