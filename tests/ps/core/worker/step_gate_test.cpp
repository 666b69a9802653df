#include "ps/core/worker/step_gate.h"

#include <gtest/gtest.h>

#include "ps/core/protocol/limits.h"

namespace attune::ps::step_gate_test {
namespace {

TEST(StepGate, ANewcomerIsNotInTheStepBeforeWhichAllAreHeld) {
  SyncState state{.revision = 5, .floor = 7, .hold = 3, .hold_at = 7};
  StepGate gate;
  gate.Join(state);
  EXPECT_FALSE(gate.in_step());
  EXPECT_EQ(gate.clock(), 7U);
  EXPECT_EQ(gate.promise(), 3U) << "it stands like the others, and no caller need wait for it";
  EXPECT_FALSE(gate.TryBegin());
  state.revision = 6;
  state.hold = 0;
  ASSERT_TRUE(gate.Update(state));
  EXPECT_TRUE(gate.TryBegin());
}

TEST(StepGate, ANewcomerBelowTheHoldIsInItsStep) {
  StepGate gate;
  gate.Join({.revision = 5, .floor = 6, .hold = 3, .hold_at = 7});
  EXPECT_TRUE(gate.in_step());
  EXPECT_EQ(gate.promise(), 3U);
}

TEST(StepGate, StepsEndAtTheLargestNumberThatAMessageCanName) {
  StepGate gate;
  gate.LiftTo(kNumberMax);
  gate.End();
  EXPECT_EQ(gate.clock(), kNumberMax);
}

TEST(StepGate, BspWaitsForTheFloorAndSspForLess) {
  for (const uint32_t slack : {0U, 2U}) {
    StepGate gate;
    EXPECT_TRUE(gate.Update({.revision = 1, .mode = SyncMode::Ssp(slack), .mode_before = SyncMode::Ssp(slack)}));
    for (uint32_t step = 0; step < slack; ++step) {
      gate.End();
      EXPECT_TRUE(gate.TryBegin()) << "slack " << slack << " step " << step;
    }
    gate.End();
    EXPECT_FALSE(gate.TryBegin()) << "slack " << slack;
    EXPECT_TRUE(
        gate.Update({.revision = 2, .floor = 1, .mode = SyncMode::Ssp(slack), .mode_before = SyncMode::Ssp(slack)}));
    EXPECT_TRUE(gate.TryBegin()) << "slack " << slack;
    EXPECT_FALSE(gate.Update({.revision = 1}));
  }
}

TEST(StepGate, ASwitchFromAsyncLiftsEveryoneToTheSameStep) {
  StepGate gate;
  EXPECT_TRUE(gate.Update({.revision = 1, .mode = SyncMode::Bsp(), .mode_before = SyncMode::Async(), .mode_from = 40}));
  gate.End();
  EXPECT_FALSE(gate.TryBegin());
  EXPECT_EQ(gate.clock(), 40U);
}

}  // namespace
}  // namespace attune::ps::step_gate_test
