#include "ps/core/membership/coordinator_term.h"

#include <gtest/gtest.h>

namespace attune::ps::coordinator_term_test {
namespace {

constexpr NodeId kServer{1}, kStranger{9};

ShardMap Map() {
  ShardMap map;
  map.version = MapVersion(1, 1);
  map.members = {{.node = kServer, .role = Role::kServer, .address = "127.0.0.1:7000"}};
  return map;
}
CoordinatorAt Notice(uint32_t term) { return {.term = term, .host = kServer, .port = 7400}; }

TEST(CoordinatorTerm, NoCoordinatorOfALowerTermIsObeyed) {
  CoordinatorTerm term;
  EXPECT_TRUE(term.Obeys(5));
  EXPECT_TRUE(term.Obeys(5));
  EXPECT_FALSE(term.Obeys(4));
  EXPECT_TRUE(term.Obeys(0)) << "it says nothing of its term";
  EXPECT_TRUE(term.Obeys(6));
  EXPECT_EQ(term.term(), 6U);
  EXPECT_FALSE(term.Obeys(6 + CoordinatorNotices::kTermJumpMax + 1)) << "no such term can have come";
  EXPECT_EQ(term.term(), 6U);
}

TEST(CoordinatorTerm, ANoticeOfALaterCoordinatorIsFollowed) {
  CoordinatorTerm term;
  term.Obeys(3);
  EXPECT_FALSE(term.Follow(kServer, Notice(3), Map()).has_value()) << "that one is known";
  EXPECT_FALSE(term.Follow(kStranger, Notice(4), Map()).has_value());
  EXPECT_EQ(term.notices_ignored(), 1U);
  const auto place = term.Follow(kServer, Notice(4), Map());
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->term, 4U);
  EXPECT_EQ(place->address, "127.0.0.1:7400");
  EXPECT_FALSE(term.Obeys(3)) << "its time is over";
}

TEST(CoordinatorTerm, ANoticeThatCameBeforeItsMapIsKept) {
  CoordinatorTerm term;
  EXPECT_FALSE(term.Follow(kServer, Notice(4), ShardMap()).has_value());
  const auto early = term.TakeEarly();
  ASSERT_EQ(early.size(), 1U);
  EXPECT_TRUE(term.Follow(early[0].first, early[0].second, Map()).has_value());
}

}  // namespace
}  // namespace attune::ps::coordinator_term_test
