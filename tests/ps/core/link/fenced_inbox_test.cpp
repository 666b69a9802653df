#include "ps/core/link/fenced_inbox.h"

#include <gtest/gtest.h>

#include "ps/core/link/link.h"

namespace attune::ps::fenced_inbox_test {
namespace {

Received PullFrom(uint32_t node, size_t keys) {
  return {.from = NodeId(node), .message = Pull{.keys = std::vector<Key>(keys, Key{1})}};
}

TEST(FencedInboxTest, GivesBackWhatCameInThatOrderAndOnce) {
  FencedInbox inbox;
  for (uint32_t node : {3, 1, 2}) inbox.Keep(PullFrom(node, 1));
  const std::vector<Received> kept = inbox.Take();
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].from, NodeId(3));
  EXPECT_EQ(kept[1].from, NodeId(1));
  EXPECT_EQ(kept[2].from, NodeId(2));
  EXPECT_TRUE(inbox.Take().empty());
}

TEST(FencedInboxTest, TakesNoMoreThanItsRoomHoweverLongTheLeaseIsAway) {
  FencedInbox few({.messages_max = 2});
  for (uint32_t node : {1, 2, 3}) few.Keep(PullFrom(node, 1));
  EXPECT_EQ(few.Take().size(), 2U);
  const size_t one = BytesOf(PullFrom(1, 1000).message);
  FencedInbox small({.bytes_max = 2 * one});
  for (int round = 0; round < 2; ++round) {
    small.Keep(PullFrom(1, 1000));
    small.Keep(PullFrom(2, 2000));  // beyond it together with the first
    small.Keep(PullFrom(3, 1000));
    const std::vector<Received> kept = small.Take();
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(kept[1].from, NodeId(3));
  }
}

}  // namespace
}  // namespace attune::ps::fenced_inbox_test
