#include "ps/core/worker/step_log.h"

#include <gtest/gtest.h>

#include <limits>

namespace attune::ps::step_log_test {
namespace {

SequenceNumber Push(uint64_t number) { return SequenceNumber(number); }

TEST(StepLog, AStepCountsOnceThePushesBeforeItsEndAreSettled) {
  StepLog log;
  log.End(10, 0.5);
  log.Mark(1, Push(3));
  log.End(10, 0.5);
  log.Mark(2, Push(5));
  EXPECT_FALSE(log.Settle(Push(2)));
  EXPECT_EQ(log.settled_steps(), 0U);
  EXPECT_TRUE(log.Settle(Push(4)));
  EXPECT_EQ(log.settled_steps(), 1U);
  EXPECT_EQ(log.settled_clock(), 1U);
  EXPECT_FALSE(log.Settle(Push(4))) << "that is known";
  EXPECT_TRUE(log.Settle(Push(9)));
  EXPECT_EQ(log.settled_steps(), 2U);
  EXPECT_EQ(log.steps(), 2U);
}

TEST(StepLog, StepsWithoutPushesBetweenThemCountTogether) {
  StepLog log;
  log.End(1, 0);
  log.Mark(1, Push(3));
  log.End(1, 0);
  log.Mark(2, Push(3));
  EXPECT_TRUE(log.Settle(Push(3)));
  EXPECT_EQ(log.settled_clock(), 2U);
  EXPECT_EQ(log.settled_steps(), 2U);
}

TEST(StepLog, TheLossIsWeightedBySamplesAndNoNumberStaysOut) {
  StepLog log;
  log.End(10, 0.5);
  log.End(0, 2.0);  // a program that does not count samples
  log.End(5, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(log.loss_sum(), 7.0);
  EXPECT_EQ(log.loss_samples(), 11U);
  EXPECT_EQ(log.samples(), 15U);
  EXPECT_EQ(log.steps(), 3U);
}

TEST(StepLog, SamplesOfAStepAreBounded) {
  StepLog log;
  log.End(UINT64_MAX, 0);
  EXPECT_EQ(log.samples(), StepLog::kSamplesPerStepMax);
}

TEST(StepLog, AWorkerThatJoinsLateBeginsAtTheClockOfTheOthers) {
  StepLog log;
  log.StartAt(40);
  log.Mark(40, Push(0));
  EXPECT_FALSE(log.Settle(Push(0))) << "no step has ended here";
  EXPECT_EQ(log.settled_clock(), 40U);
}

}  // namespace
}  // namespace attune::ps::step_log_test
