#include "ps/transport/tcp/connect/pending_handshakes.h"

#include <gtest/gtest.h>

namespace attune::ps::pending_handshakes_test {
namespace {

using Shed = std::optional<PendingHandshakes::Id>;

TEST(PendingHandshakesTest, OldestOfASourceMakesRoomForItsNext) {
  PendingHandshakes pending(2, 10);
  EXPECT_EQ(pending.Begin(1, "a"), Shed());
  EXPECT_EQ(pending.Begin(2, "a"), Shed());
  EXPECT_EQ(pending.Begin(3, "a"), Shed(1));
  EXPECT_EQ(pending.Begin(4, "a"), Shed(2));
  EXPECT_EQ(pending.size(), 2U);
}

TEST(PendingHandshakesTest, SourcesDoNotTakeEachOthersPlaces) {
  PendingHandshakes pending(2, 10);
  for (PendingHandshakes::Id id = 1; id <= 20; ++id) pending.Begin(id, "slow");
  EXPECT_EQ(pending.Begin(21, "member"), Shed());
  EXPECT_EQ(pending.Begin(22, "slow"), Shed(19));
  pending.End(21);
  EXPECT_EQ(pending.size(), 2U);
}

TEST(PendingHandshakesTest, SourceWithMostGivesWayWhenAllPlacesAreTaken) {
  PendingHandshakes pending(3, 4);
  pending.Begin(1, "one");
  pending.Begin(2, "many");
  pending.Begin(3, "many");
  pending.Begin(4, "many");
  EXPECT_EQ(pending.Begin(5, "member"), Shed(2));
  EXPECT_EQ(pending.Begin(6, "another"), Shed(3));
}

TEST(PendingHandshakesTest, PlacesThatEndAreFree) {
  PendingHandshakes pending(1, 1);
  for (PendingHandshakes::Id id = 1; id <= 1000; ++id) {
    EXPECT_EQ(pending.Begin(id, std::to_string(id % 7)), Shed());
    pending.End(id);
    pending.End(id);  // reported twice
  }
  EXPECT_EQ(pending.size(), 0U);
}

}  // namespace
}  // namespace attune::ps::pending_handshakes_test
