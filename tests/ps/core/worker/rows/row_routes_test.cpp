#include "ps/core/worker/rows/row_routes.h"

#include <map>
#include <vector>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/worker/rows/row_parts.h"

namespace attune::ps::row_routes_test {
namespace {

class RowRoutesTest : public RowPartsTest {
 protected:
  // By the number of keys, for the routes that have some.
  std::map<NodeId, size_t> KeysByRoute(const std::vector<Key>& keys) {
    const RouteGroups& groups = routes_.Group(kTable, keys);
    std::map<NodeId, size_t> counts;
    for (size_t route = 0; route < groups.routes().size(); ++route) {
      if (!groups.PlacesOf(route).empty()) counts[groups.routes()[route]] = groups.PlacesOf(route).size();
    }
    return counts;
  }
};

TEST_F(RowRoutesTest, OnlyTablesThatAreOpenAreFound) {
  ASSERT_NE(routes_.Find(kTable), nullptr);
  EXPECT_EQ(routes_.Find(kTable)->name, "rows");
  EXPECT_EQ(routes_.Find(TableId(2)), nullptr);
}

TEST_F(RowRoutesTest, AMessageTakesAsManyKeysAsTheirRowsLeaveRoomFor) {
  EXPECT_EQ(routes_.KeysPerMessage(1), kKeysPerMessageMax);
  EXPECT_EQ(routes_.KeysPerMessage(kDimMax), kFloatsPerMessageMax / kDimMax);
}

TEST_F(RowRoutesTest, KeysGoToTheirHomesToOwnersThatWereSeenAndToThisNode) {
  const Key home = KeyAt(kFirstServer), elsewhere = KeyAt(kFirstServer, 1), here = KeyAt(kFirstServer, 2);
  Own(here);
  routes_.hints().LearnFrom(PushAck{.sequence = SequenceNumber(1),
                                    .map_version = {},
                                    .positions = {.first = 0, .count = 1, .list = {}},
                                    .owner = kOtherWorker},
                            kTable, std::vector<Key>{elsewhere}, cluster_);
  EXPECT_EQ(KeysByRoute({home, elsewhere, here}),
            (std::map<NodeId, size_t>{{kFirstServer, 1}, {kOtherWorker, 1}, {kWorker, 1}}));
  routes_.hints().Forget(kOtherWorker);
  EXPECT_EQ(KeysByRoute({home, elsewhere, here}), (std::map<NodeId, size_t>{{kFirstServer, 2}, {kWorker, 1}}));
}

TEST_F(RowRoutesTest, WhatGoesToThisNodeIsNotSent) {
  routes_.Send(kFirstServer, Pull{.request = RequestId(1)}, now_, out_);
  routes_.Send(kWorker, Pull{.request = RequestId(2)}, now_, out_);
  const auto sent = SentOf<Pull>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, kFirstServer);
}

}  // namespace
}  // namespace attune::ps::row_routes_test
