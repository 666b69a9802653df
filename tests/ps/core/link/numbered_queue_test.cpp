#include "ps/core/link/numbered_queue.h"

#include <gtest/gtest.h>

namespace attune::ps::numbered_queue_test {
namespace {

Message PullOf(size_t keys) {
  Pull pull;
  pull.keys = std::vector<Key>(keys, 1);
  return pull;
}

TEST(NumberedQueue, NumbersGoOnAfterTheFirstIsRemoved) {
  NumberedQueue queue;
  EXPECT_EQ(queue.first(), queue.end());
  for (const size_t keys : {1, 2, 3}) queue.Append(PullOf(keys));
  EXPECT_EQ(queue.end(), 4U);
  queue.RemoveFirst();
  EXPECT_EQ(queue.first(), 2U);
  EXPECT_EQ(std::get<Pull>(queue.At(2)).keys.size(), 2U);
  queue.Append(PullOf(4));
  EXPECT_EQ(std::get<Pull>(queue.At(4)).keys.size(), 4U);
}

TEST(NumberedQueue, ItWeighsWhatItsMessagesWeigh) {
  NumberedQueue queue;
  queue.Append(PullOf(1));
  queue.Append(PullOf(10));
  EXPECT_EQ(queue.bytes(), queue.BytesAt(1) + queue.BytesAt(2));
  queue.Replace(1, PullOf(100));
  EXPECT_EQ(queue.BytesAt(1), BytesOf(PullOf(100)));
  EXPECT_EQ(queue.bytes(), queue.BytesAt(1) + queue.BytesAt(2));
  queue.RemoveFirst();
  queue.RemoveFirst();
  EXPECT_EQ(queue.bytes(), 0U);
}

}  // namespace
}  // namespace attune::ps::numbered_queue_test
