// When peers that have gone are to be forgotten.
#include "ps/transport/tcp/departed_peers.h"

#include <gtest/gtest.h>

namespace attune::ps::departed_peers_test {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime At(int second) { return MonotonicTime(seconds(second)); }

TEST(DepartedPeersTest, TheLongestGoneIsDueFirst) {
  DepartedPeers departed(seconds(60));
  EXPECT_EQ(departed.due_at(), kNever);
  departed.Add(NodeId(1), At(100));
  departed.Add(NodeId(2), At(110));
  EXPECT_EQ(departed.due_at(), At(160));
  EXPECT_FALSE(departed.TakeDue(At(159)));
  const auto first = departed.TakeDue(At(160));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->node, NodeId(1));
  EXPECT_EQ(first->at, At(100));
  EXPECT_FALSE(departed.TakeDue(At(160)));
  EXPECT_EQ(departed.due_at(), At(170));
}

TEST(DepartedPeersTest, RoomIsMadeBeforeTheTime) {
  DepartedPeers departed(seconds(60));
  departed.Add(NodeId(1), At(100));
  EXPECT_EQ(departed.TakeOldest()->node, NodeId(1));
  EXPECT_TRUE(departed.empty());
  EXPECT_FALSE(departed.TakeOldest());
  EXPECT_FALSE(departed.TakeDue(At(1000)));
}

TEST(DepartedPeersTest, OneThatLeavesTwiceHasTwoEntries) {
  DepartedPeers departed(seconds(0));
  departed.Add(NodeId(1), At(100));
  departed.Add(NodeId(1), At(105));
  EXPECT_EQ(departed.TakeDue(At(105))->at, At(100));
  EXPECT_EQ(departed.TakeDue(At(105))->at, At(105));
}

}  // namespace
}  // namespace attune::ps::departed_peers_test
