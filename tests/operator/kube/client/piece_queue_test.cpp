#include "operator/kube/client/piece_queue.h"

#include <gtest/gtest.h>

#include <future>

namespace attune::kube::piece_queue_test {
namespace {

constexpr auto kNow = std::chrono::steady_clock::time_point::min();

TEST(PieceQueueTest, PiecesComeInOrderAndTheEndAfterThem) {
  PieceQueue queue;
  EXPECT_TRUE(queue.Push("a"));
  EXPECT_TRUE(queue.Push("b"));
  queue.End(Error(StatusCode::kUnavailable, "cut"));
  EXPECT_EQ(queue.Pop(), "a");
  EXPECT_EQ(queue.Pop(), "b");
  EXPECT_EQ(queue.Pop(), std::nullopt);
  ASSERT_TRUE(queue.end().has_value());
  EXPECT_EQ(queue.end()->code(), StatusCode::kUnavailable);
}

TEST(PieceQueueTest, ThePieceThatIsTooMuchIsRefusedAndThoseBeforeStay) {
  PieceQueue queue;
  EXPECT_TRUE(queue.Push(std::string(PieceQueue::kQueuedBytesMax, 'x')));
  EXPECT_FALSE(queue.Push("y"));
  EXPECT_EQ(queue.Pop()->size(), PieceQueue::kQueuedBytesMax);
  EXPECT_TRUE(queue.Push("y"));
}

TEST(PieceQueueTest, TheFirstEndCounts) {
  PieceQueue queue;
  queue.End(OkStatus());
  queue.End(Error(StatusCode::kUnavailable, "late"));
  EXPECT_TRUE(queue.end()->ok());
}

TEST(PieceQueueTest, AtItsDeadlineAnEmptyQueueHasNothingAndHasNotEnded) {
  PieceQueue queue;
  EXPECT_EQ(queue.Pop(kNow), std::nullopt);
  EXPECT_EQ(queue.end(), std::nullopt);
}

TEST(PieceQueueTest, ClosingWakesTheReaderAndDropsWhatIsQueued) {
  PieceQueue queue;
  std::future<std::optional<std::string>> reader = std::async(std::launch::async, [&] { return queue.Pop(); });
  queue.Close();
  EXPECT_EQ(reader.get(), std::nullopt);
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.Push("a"));
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

}  // namespace
}  // namespace attune::kube::piece_queue_test
