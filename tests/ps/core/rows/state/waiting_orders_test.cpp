#include "ps/core/rows/state/waiting_orders.h"

#include <gtest/gtest.h>

namespace attune::ps::waiting_orders_test {
namespace {

constexpr TableKey kRow{TableId(1), 7}, kOther{TableId(1), 8};
constexpr NodeId kAnna{1}, kBert{2};

TEST(WaitingOrders, OnlyTheOrderThatFollowsOnTheRowsNumberIsTaken) {
  WaitingOrders orders;
  orders.Add(kRow, {.move_number = 5, .to = kAnna});
  orders.Add(kRow, {.move_number = 4, .to = kBert});
  EXPECT_FALSE(orders.TakeNext(kRow, 2)) << "the order before it has not come yet";
  EXPECT_FALSE(orders.TakeNext(kOther, 3));
  EXPECT_EQ(orders.TakeNext(kRow, 3)->to, kBert);
  EXPECT_EQ(orders.TakeNext(kRow, 4)->to, kAnna);
  EXPECT_FALSE(orders.TakeNext(kRow, 4)) << "it was taken";
  EXPECT_TRUE(orders.empty());
}

TEST(WaitingOrders, NumbersBeginAgainAfterTheLargest) {
  WaitingOrders orders;
  orders.Add(kRow, {.move_number = 0, .to = kAnna});
  EXPECT_TRUE(orders.TakeNext(kRow, 65535));
}

TEST(WaitingOrders, AnOrderThatComesTwiceWaitsOnce) {
  WaitingOrders orders;
  for (int i = 0; i < 2; ++i) orders.Add(kRow, {.move_number = 4, .to = kAnna});
  orders.Add(kOther, {.move_number = 1, .to = kAnna});
  EXPECT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders.rows(), 2U);
  EXPECT_TRUE(orders.TakeNext(kRow, 3));
  EXPECT_EQ(orders.size(), 1U);
  EXPECT_FALSE(orders.WaitsFor(kRow));
  EXPECT_TRUE(orders.AnyRow([](TableKey row) { return row == kOther; }));
  EXPECT_FALSE(orders.AnyRow([](TableKey row) { return row == kRow; }));
  orders.Clear();
  EXPECT_EQ(orders.size(), 0U);
  EXPECT_FALSE(orders.WaitsFor(kOther));
}

}  // namespace
}  // namespace attune::ps::waiting_orders_test
