// How long a right to act lasts.
#include "operator/leadership/election/acting_right.h"

#include <gtest/gtest.h>

namespace attune::leadership::acting_right_test {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kStart{seconds(100)};

TEST(ActingRightTest, ANewOneIsOver) { EXPECT_TRUE(ActingRight().IsOver(kStart)); }

TEST(ActingRightTest, ItLastsUntilTheTimeOfItsLastRenewal) {
  ActingRight right;
  right.Renew(kStart, kStart + seconds(10));
  EXPECT_FALSE(right.IsOver(kStart + seconds(9)));
  EXPECT_TRUE(right.IsOver(kStart + seconds(10)));
  right.Renew(kStart + seconds(5), kStart + seconds(15));
  EXPECT_FALSE(right.IsOver(kStart + seconds(10)));
  EXPECT_EQ(right.renewed_at(), kStart + seconds(5));
}

TEST(ActingRightTest, EndingNeverProlongsIt) {
  ActingRight right;
  right.Renew(kStart, kStart + seconds(10));
  right.End(kStart + seconds(4));
  EXPECT_EQ(right.until(), kStart + seconds(4));
  right.End(kStart + seconds(8));
  EXPECT_EQ(right.until(), kStart + seconds(4));
}

TEST(ActingRightTest, AVoidOneIsOverAndKeepsWhenItWasRenewed) {
  ActingRight right;
  right.Renew(kStart, kStart + seconds(10));
  right.Void();
  EXPECT_TRUE(right.IsOver(kStart));
  EXPECT_EQ(right.renewed_at(), kStart);
}

}  // namespace
}  // namespace attune::leadership::acting_right_test
