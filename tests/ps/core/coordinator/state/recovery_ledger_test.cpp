#include "ps/core/coordinator/state/recovery_ledger.h"

#include <gtest/gtest.h>

namespace attune::ps::recovery_ledger_test {
namespace {

JobProgress ProgressOf(const RecoveryLedger& ledger, uint16_t recoveries = 1) {
  JobProgress progress;
  ledger.Fill(progress, recoveries);
  return progress;
}

RecoveryLedger WithCheckpoint() {
  RecoveryLedger ledger;
  ledger.SetNewest({.directory = "/models", .checkpoint = 4, .clock = 30}, 120);
  return ledger;
}

TEST(RecoveryLedger, WhatIsLostIsCountedFromTheNewestCheckpoint) {
  RecoveryLedger ledger = WithCheckpoint();
  EXPECT_EQ(
      ledger.DescribeLoss(2, 150),
      "; 2 shards have no copy, their rows go back to checkpoint 4 in /models at step 30; 30 steps of all workers "
      "since then");
  ledger.Begin(0);
  ledger.TakeFromNewest(150, true, false);
  ledger.Add(2, 10, 1);
  EXPECT_TRUE(ledger.End());
  EXPECT_EQ(ledger.DescribeEnd(),
            "2 shards had no copy, 10 rows went back to checkpoint 4 at step 30, 1 rows known to others are "
            "reinitialized");
  const JobProgress progress = ProgressOf(ledger);
  EXPECT_EQ(progress.shards_restored, 2U);
  EXPECT_EQ(progress.rows_restored, 10U);
  EXPECT_EQ(progress.rows_begun_anew, 1U);
  EXPECT_EQ(progress.steps_lost, 30U);
  EXPECT_EQ(progress.restored_from.checkpoint, 4U);
  EXPECT_EQ(progress.recoveries, 1U);
  EXPECT_FALSE(progress.model_lost);
}

TEST(RecoveryLedger, WithoutACheckpointNothingIsTaken) {
  const RecoveryLedger ledger;
  EXPECT_EQ(ledger.DescribeLoss(1, 9),
            "; 1 shards have no copy, and there is no checkpoint: their rows are reinitialized");
  EXPECT_EQ(ledger.DescribeEnd(), "no row was lost");
}

TEST(RecoveryLedger, WhileOneIsInProgressTheFiguresAreThoseBeforeIt) {
  RecoveryLedger ledger = WithCheckpoint();
  ledger.Begin(0);
  ledger.TakeFromNewest(150, true, false);
  ledger.Add(2, 10, 0);
  ledger.Begin(1);
  ledger.Add(1, 5, 0);
  EXPECT_EQ(ProgressOf(ledger, 2).shards_restored, 0U);
  EXPECT_EQ(ProgressOf(ledger, 2).recoveries, 0U) << "the second has begun during the first and ends with it";
  EXPECT_TRUE(ledger.End());
  EXPECT_FALSE(ledger.End());
  EXPECT_EQ(ProgressOf(ledger, 2).shards_restored, 3U);
  EXPECT_EQ(ProgressOf(ledger, 2).recoveries, 2U);
}

TEST(RecoveryLedger, AfterTheGoalTheModelIsLostUnlessTheCheckpointContainsAll) {
  RecoveryLedger ledger = WithCheckpoint();
  ledger.TakeFromNewest(120, false, true);
  EXPECT_FALSE(ledger.model_lost()) << "the checkpoint contains every step and item";
  ledger.TakeFromNewest(121, false, false);
  EXPECT_FALSE(ledger.model_lost()) << "the step is trained again";
  ledger.TakeFromNewest(121, false, true);
  EXPECT_TRUE(ledger.model_lost());
  ledger.TakeFromNewest(120, false, false);
  EXPECT_TRUE(ledger.model_lost()) << "it stays so";
}

TEST(RecoveryLedger, ItemsSinceTheCheckpointCountWhileTheirStepsAreNotReportedYet) {
  RecoveryLedger ledger = WithCheckpoint();
  ledger.TakeFromNewest(120, true, true);
  EXPECT_EQ(ProgressOf(ledger).steps_lost, 0U);
  EXPECT_TRUE(ProgressOf(ledger).model_lost);
}

TEST(RecoveryLedger, ACheckpointOfLaterDoesNotBringBackWhatWentToFirstValues) {
  RecoveryLedger ledger;
  ledger.TakeFromNewest(0, false, false);
  EXPECT_FALSE(ledger.model_lost()) << "before the first step";
  ledger.TakeFromNewest(10, false, false);
  EXPECT_TRUE(ledger.model_lost());
  ledger.SetNewest({.directory = "/models", .checkpoint = 1, .clock = 20}, 20);
  ledger.TakeFromNewest(30, true, false);
  EXPECT_TRUE(ledger.model_lost());
}

}  // namespace
}  // namespace attune::ps::recovery_ledger_test
