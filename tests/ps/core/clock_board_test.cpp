#include "ps/core/clock_board.h"

#include <gtest/gtest.h>

#include "ps/core/limits.h"
#include "ps/core/liveness_lease.h"

namespace attune::ps {
namespace {

constexpr NodeId kAnna{1}, kBert{2};

ClockBoard TwoAtWork(SyncMode mode) {
  ClockBoard board(1, mode);
  board.Add(kAnna);
  board.Add(kBert);
  board.SetCounted(kAnna, true);
  board.SetCounted(kBert, true);
  return board;
}

TEST(ClockBoard, TheFloorIsTheSlowestWorkerWithWork) {
  ClockBoard board = TwoAtWork(SyncMode::Bsp());
  board.Report(kAnna, 5, 5, 0);
  EXPECT_EQ(board.floor(), 0U);
  EXPECT_EQ(board.state().slowest, kBert);
  EXPECT_TRUE(board.TakeChanged() || board.floor() == 0);
  board.Report(kBert, 3, 3, 0);
  EXPECT_EQ(board.floor(), 3U);
  EXPECT_TRUE(board.TakeChanged());
  board.SetCounted(kBert, false);
  EXPECT_EQ(board.floor(), 5U) << "one without work holds nobody up";
  board.SetCounted(kBert, true);
  EXPECT_EQ(board.ClockOf(kBert), 5U) << "and stands at the floor when it gets work again";
}

TEST(ClockBoard, AWorkerThatGoesDoesNotHoldTheFloor) {
  ClockBoard board = TwoAtWork(SyncMode::Bsp());
  board.Report(kAnna, 7, 7, 0);
  board.Remove(kBert);
  EXPECT_EQ(board.floor(), 7U);
}

TEST(ClockBoard, OneBeyondTheHoldRaisesIt) {
  ClockBoard board = TwoAtWork(SyncMode::Async());
  board.Report(kAnna, 5, 5, 0);
  board.Prepare();
  const uint64_t first = board.state().hold;
  EXPECT_EQ(board.hold_at(), 6U);
  board.Report(kBert, 0, 0, first);
  board.Report(kAnna, 9, 9, 0);
  EXPECT_GT(board.state().hold, first);
  EXPECT_GT(board.hold_at(), 9U);
  EXPECT_FALSE(board.AllPromised()) << "promises of the old hold do not count";
  board.Report(kAnna, 9, 9, board.state().hold);
  board.Report(kBert, 0, 0, board.state().hold);
  EXPECT_TRUE(board.AllPromised());
}

TEST(StepGate, ANewcomerIsNotInTheStepBeforeWhichAllAreHeld) {
  SyncState state{.revision = 5, .floor = 7, .hold = 3, .hold_at = 7};
  StepGate gate;
  gate.Join(state);
  EXPECT_FALSE(gate.in_step());
  EXPECT_EQ(gate.clock(), 7U);
  EXPECT_EQ(gate.promise(), 3U) << "it stands like the others, and nobody need wait for it";
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

TEST(SyncMode, IsReadAndWritten) {
  for (const char* text : {"async", "bsp", "ssp:4"}) EXPECT_EQ(ToString(*ParseSyncMode(text)), text);
  EXPECT_EQ(*ParseSyncMode("SSP:0"), SyncMode::Bsp());
  for (const char* text : {"", "ssp", "ssp:", "ssp:-1", "ssp:1x", "ssp:99999999999", "sma"}) {
    EXPECT_EQ(ParseSyncMode(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(LivenessLease, CountsFromTheHeartbeatThatWasAnswered) {
  const MonotonicTime start{};
  using std::chrono::seconds;
  LivenessLease lease;
  EXPECT_TRUE(lease.Valid(start + seconds(1000))) << "nothing was given yet";
  lease.Sent(1, start);
  lease.Sent(2, start + seconds(1));
  lease.Answered(1, seconds(10));
  EXPECT_TRUE(lease.Valid(start + seconds(8)));
  EXPECT_FALSE(lease.Valid(start + seconds(9))) << "a tenth is margin";
  lease.Answered(2, seconds(10));
  EXPECT_TRUE(lease.Valid(start + seconds(9)));
  lease.Answered(1, seconds(100));
  EXPECT_FALSE(lease.Valid(start + seconds(10))) << "an old answer gives nothing";
}

}  // namespace
}  // namespace attune::ps
