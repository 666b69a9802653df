#include "ps/core/intent/round_pace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace attune::ps::round_pace_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RoundPaceTest : public testing::Test {
 protected:
  // From a round that carries so many rows to the one after it.
  Duration After(size_t rows, size_t row_bytes) {
    pace_.Carried(rows, row_bytes);
    pace_.Sent(now_);
    return pace_.next() - now_;
  }

  RoundPace pace_;
  MonotonicTime now_{seconds(100)};
};

TEST_F(RoundPaceTest, TheFirstRoundMayBeSentAtOnce) { EXPECT_LE(pace_.next(), now_); }

TEST_F(RoundPaceTest, RoundsThatCarryLittleFollowEachOtherSoon) {
  const Duration shortest = After(0, 0);
  EXPECT_GE(shortest, milliseconds(1));
  EXPECT_LE(shortest, milliseconds(10));
  EXPECT_EQ(After(10, 100), shortest);
}

// A row costs 0.4 us and 1 ns a byte, by the costs that homes decide with.
TEST_F(RoundPaceTest, RowsTakeATwentiethOfACoreAtMost) {
  const struct {
    size_t rows, row_bytes;
    milliseconds interval;
  } cases[] = {{1000, 600, milliseconds(20)},   // 1 ms
               {2000, 600, milliseconds(40)},   // 2 ms
               {1000, 1600, milliseconds(40)},  // the same
               {5000, 600, milliseconds(100)},  // 5 ms
               {5'000'000, 600, milliseconds(400)}};
  for (const auto& round : cases) {
    const Duration interval = After(round.rows, round.row_bytes);
    EXPECT_LE(interval, round.interval + microseconds(1)) << round.rows << " rows of " << round.row_bytes;
    EXPECT_GE(interval, round.interval - microseconds(1)) << round.rows << " rows of " << round.row_bytes;
  }
}

TEST_F(RoundPaceTest, WhatIsCarriedCountsOnce) {
  pace_.Carried(500, 600);  // a fold
  pace_.Carried(500, 600);  // and what the answer brought
  const Duration busy = After(0, 0);
  EXPECT_GE(busy, milliseconds(19));
  now_ = pace_.next();
  EXPECT_LT(After(0, 0), busy) << "nothing was carried since";
}

// At 100 Mbit/s a byte takes 80 ns.
TEST_F(RoundPaceTest, RowsTakeATwentiethOfASlowLinkAtMost) {
  const auto exchange = [&](size_t rows, size_t row_bytes) {
    const Duration interval = After(rows, row_bytes);
    const double of_rows = static_cast<double>(rows) * (0.4e-6 + 80e-9 * static_cast<double>(row_bytes));
    pace_.Answered(now_ + microseconds(std::llround(200 + 1e6 * of_rows)));
    now_ = pace_.next();
    return interval;
  };
  const Duration at_first = exchange(80, 512);
  for (int i = 0; i < 40; ++i) exchange(i % 2 == 0 ? 100 : 1, 512);
  EXPECT_NEAR(pace_.price().seconds_per_byte(), 80e-9, 2e-9);
  EXPECT_EQ(at_first, milliseconds(10)) << "it was not known then";
  EXPECT_NEAR(std::chrono::duration<double>(exchange(80, 512)).count(), 80 * 512 * 80e-9 / 0.05, 0.003);
}

TEST_F(RoundPaceTest, SaysHowManyRoundsThatIsInASecond) {
  After(1000, 600);
  EXPECT_GE(pace_.per_second(), 49U);
  EXPECT_LE(pace_.per_second(), 51U);
  After(5'000'000, 600);
  EXPECT_EQ(pace_.per_second(), 2U);
}

}  // namespace
}  // namespace attune::ps::round_pace_test
