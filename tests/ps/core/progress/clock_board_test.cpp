#include "ps/core/progress/clock_board.h"

#include <gtest/gtest.h>

namespace attune::ps::clock_board_test {
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
  EXPECT_EQ(board.floor(), 5U) << "one without work holds up no other";
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

}  // namespace
}  // namespace attune::ps::clock_board_test
