#include "ps/core/worker/joining.h"

#include <gtest/gtest.h>

namespace attune::ps {
namespace {

using std::chrono::seconds;

TEST(Joining, TheCallThatWaitsIsTakenOnce) {
  Joining joining(seconds(2));
  EXPECT_FALSE(joining.waits());
  joining.Wait(CallId(7));
  joining.GiveUp(CallId(8));
  ASSERT_TRUE(joining.waits()) << "another call has timed out";
  EXPECT_EQ(joining.TakeCall(), CallId(7));
  EXPECT_FALSE(joining.waits());
  joining.Wait(CallId(9));
  joining.GiveUp(CallId(9));
  EXPECT_FALSE(joining.waits());
}

TEST(Joining, TheCoordinatorIsAskedAgainAfterAWhile) {
  Joining joining(seconds(2));
  joining.Sent(MonotonicTime(seconds(100)));
  EXPECT_EQ(joining.again_at(), MonotonicTime(seconds(102)));
}

TEST(Joining, MissingServersAreCounted) {
  Joining joining(seconds(2));
  joining.Welcomed(3, 1);
  EXPECT_EQ(joining.WhatIsMissing().substr(0, 6), "1 of 3");
}

}  // namespace
}  // namespace attune::ps
