#include "sidecar/relay/reconnect_backoff.h"

#include <gtest/gtest.h>

namespace attune::sidecar::reconnect_backoff_test {
namespace {

using std::chrono::hours;

constexpr MonotonicTime kNow = MonotonicTime{} + hours(1);

// Between half of it and all of it.
void ExpectWaitOf(Duration wait, const ReconnectBackoff& backoff) {
  EXPECT_GE(backoff.at() - kNow, wait / 2);
  EXPECT_LE(backoff.at() - kNow, wait);
}

TEST(ReconnectBackoff, TheFirstStreamIsOpenedAtOnce) { EXPECT_LE(ReconnectBackoff(1).at(), kNow); }

TEST(ReconnectBackoff, WaitsDoubleUpToTheLongest) {
  ReconnectBackoff backoff(1);
  for (Duration wait = kBackoffMin; wait < 4 * kBackoffMax; wait *= 2) {
    backoff.Schedule(false, kNow);
    ExpectWaitOf(std::min(wait, kBackoffMax), backoff);
  }
}

TEST(ReconnectBackoff, AfterAStreamThatLastedItBeginsAgainWithAShortOne) {
  ReconnectBackoff backoff(1);
  for (int failure = 0; failure < 5; ++failure) backoff.Schedule(false, kNow);
  backoff.Schedule(true, kNow);
  ExpectWaitOf(kFirstRetry, backoff);
  backoff.Schedule(false, kNow);
  ExpectWaitOf(kBackoffMin, backoff);
}

TEST(ReconnectBackoff, WhereNoOperatorIsItIsAskedEverySecond) {
  ReconnectBackoff backoff(1);
  for (int failure = 0; failure < 5; ++failure) {
    backoff.NoteUnreachable();
    backoff.Schedule(false, kNow);
  }
  ExpectWaitOf(kBackoffUnreachableMax, backoff);
}

TEST(ReconnectBackoff, WhatHasToBeSentSoonWaitsNoLonger) {
  ReconnectBackoff backoff(1);
  backoff.Schedule(false, kNow);
  backoff.Hurry(kNow);
  EXPECT_EQ(backoff.at(), kNow);
  backoff.Hurry(kNow + hours(1));
  EXPECT_EQ(backoff.at(), kNow);
}

TEST(ReconnectBackoff, SidecarsDoNotComeBackAllAtOnce) {
  ReconnectBackoff one(1), other(2);
  one.Schedule(false, kNow);
  other.Schedule(false, kNow);
  EXPECT_NE(one.at(), other.at());
}

}  // namespace
}  // namespace attune::sidecar::reconnect_backoff_test
