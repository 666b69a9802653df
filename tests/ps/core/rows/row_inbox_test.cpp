#include "ps/core/rows/context/row_inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps::row_inbox_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kSelf = NodeParts::kSelf, kPeer = NodeParts::kPeer, kThird = NodeParts::kThird;
constexpr NodeId kWorker = NodeParts::kWorker, kStranger{99};

class RowInboxTest : public testing::Test {
 protected:
  static Message LocalizeOf(MapVersion version, Key key) {
    return Localize{.map_version = version, .table = NodeParts::kTable, .to = kPeer, .keys = std::vector<Key>{key}};
  }
  bool Keep(NodeId from, MapVersion version, Key key) {
    Message message = LocalizeOf(version, key);
    return inbox_.Keep(from, message);
  }
  MapVersion now() const { return parts_.node.map().version; }
  MapVersion next() const { return now().Next(); }
  // The keys of what is taken now, in order.
  std::vector<Key> Release() {
    std::vector<Key> keys;
    some_wait_ = inbox_.Release([&](NodeId, Message message) { keys.push_back(std::get<Localize>(message).keys[0]); });
    return keys;
  }

  NodeParts parts_{{.stalled_max = 2}};
  RowInbox inbox_{parts_.node};
  bool some_wait_ = false;
};

TEST_F(RowInboxTest, BehindOneThatWaitsForAMapAllOfItsSenderDo) {
  EXPECT_FALSE(Keep(kPeer, now(), 1));
  EXPECT_TRUE(Keep(kPeer, next(), 2));
  EXPECT_TRUE(Keep(kPeer, now(), 3)) << "it came later";
  EXPECT_FALSE(Keep(kThird, now(), 4));
  EXPECT_FALSE(Keep(kSelf, next(), 5)) << "this node knows what it does";
  EXPECT_THAT(Release(), IsEmpty());
  EXPECT_TRUE(some_wait_);
  parts_.AdoptChanged([](ShardMap&) {});
  EXPECT_THAT(Release(), ElementsAre(2, 3));
  EXPECT_FALSE(some_wait_);
  EXPECT_FALSE(Keep(kPeer, now(), 6));
}

TEST_F(RowInboxTest, AMessageThatFindsNoRoomIsLeftToItsLink) {
  EXPECT_TRUE(inbox_.HasRoomFor(kPeer, LocalizeOf(next(), 1)));
  Keep(kPeer, next(), 1);
  Keep(kPeer, next(), 2);
  EXPECT_FALSE(inbox_.HasRoomFor(kPeer, LocalizeOf(now(), 3)));
  EXPECT_TRUE(inbox_.HasRoomFor(kThird, LocalizeOf(next(), 3)));
}

TEST_F(RowInboxTest, WhatASenderMayNotSayIsDropped) {
  EXPECT_TRUE(inbox_.Admits(kPeer, MoveOrder{}, parts_.out));
  EXPECT_TRUE(inbox_.Admits(kSelf, MoveOrder{}, parts_.out));
  EXPECT_FALSE(inbox_.Admits(kStranger, MoveOrder{}, parts_.out)) << "it may have been a member";
  EXPECT_THAT(parts_.out.rejected, IsEmpty());
  EXPECT_FALSE(inbox_.Admits(kWorker, MoveOrder{}, parts_.out)) << "only homes order";
  ASSERT_THAT(parts_.out.rejected, SizeIs(1));
  EXPECT_EQ(parts_.out.rejected[0].from, kWorker);
}

TEST_F(RowInboxTest, WhatANodeSentThatIsGoneIsForgotten) {
  Keep(kPeer, next(), 1);
  inbox_.Forget(kPeer);
  EXPECT_EQ(inbox_.stalled().senders(), 0U);
}

}  // namespace
}  // namespace attune::ps::row_inbox_test
