#include "ps/core/worker/lease_progress.h"

#include <gtest/gtest.h>

namespace attune::ps::lease_progress_test {
namespace {

SequenceNumber Push(uint64_t number) { return SequenceNumber(number); }

TEST(LeaseProgress, APositionIsDoneOnceThePushesBeforeItAreSettled) {
  LeaseProgress lease(100, 200);
  lease.Advance(120, Push(3));
  lease.Advance(140, Push(5));
  EXPECT_EQ(lease.done(), 100U);
  EXPECT_FALSE(lease.CanSettle(Push(2)));
  ASSERT_TRUE(lease.CanSettle(Push(3)));
  lease.Settle(Push(3));
  EXPECT_EQ(lease.done(), 120U);
  EXPECT_FALSE(lease.settled());
  lease.Settle(Push(9));
  EXPECT_EQ(lease.done(), 140U);
  EXPECT_TRUE(lease.settled());
  EXPECT_FALSE(lease.complete());
  lease.Advance(200, Push(9));
  lease.Settle(Push(9));
  EXPECT_TRUE(lease.complete());
}

TEST(LeaseProgress, PositionsStayInTheLeaseAndDoNotFall) {
  LeaseProgress lease(100, 200);
  lease.Advance(150, Push(1));
  lease.Advance(90, Push(1));
  EXPECT_EQ(lease.named(), 150U);
  lease.Advance(1000, Push(2));
  EXPECT_EQ(lease.named(), 200U);
  lease.Settle(Push(1));
  EXPECT_EQ(lease.done(), 150U);
}

TEST(LeaseProgress, AProgramThatNamesManyPositionsWithoutPushesKeepsOneMark) {
  LeaseProgress lease(0, 1000);
  for (uint64_t position = 1; position <= 1000; ++position) lease.Advance(position, Push(7));
  lease.Settle(Push(6));
  EXPECT_EQ(lease.done(), 0U);
  lease.Settle(Push(7));
  EXPECT_EQ(lease.done(), 1000U);
}

}  // namespace
}  // namespace attune::ps::lease_progress_test
