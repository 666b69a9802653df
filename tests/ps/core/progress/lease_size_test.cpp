#include "ps/core/progress/lease_size.h"

#include <gtest/gtest.h>

#include <chrono>

namespace attune::ps::lease_size_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// `grants` of them, of which `open` are held at any time and each for `held`.
void Pass(LeaseSize& size, MonotonicTime& now, int grants, size_t open, Duration held) {
  for (int i = 0; i < grants; ++i) {
    now += held / open;
    size.NoteGranted(now, open);
  }
}

TEST(LeaseSize, BeginsWithOneItemAndSoonHasThoseOfASecond) {
  LeaseSize size(1'000'000'000);
  MonotonicTime now{};
  EXPECT_EQ(size.items(), 1U);
  for (int i = 0; i < 1000; ++i) Pass(size, now, 1, 2, size.items() * milliseconds(2));  // a millisecond each
  EXPECT_EQ(size.items(), 512U);
  EXPECT_LT(now.time_since_epoch(), seconds(1000));
}

// A goal in seconds is reached in the middle of an epoch, and what is held is done.
TEST(LeaseSize, NoLeaseLastsForMinutes) {
  for (const Duration item : {Duration(milliseconds(1)), Duration(milliseconds(100)), Duration(seconds(7))}) {
    LeaseSize size(1'000'000'000);
    MonotonicTime now{};
    for (int i = 0; i < 5000; ++i) {
      Pass(size, now, 1, 4, 2 * size.items() * item);
      ASSERT_LE(size.items() * item, seconds(7));
    }
  }
}

TEST(LeaseSize, AnEpochThatIsShortHasAboutTheUsualNumberOfLeases) {
  LeaseSize size(5000);
  MonotonicTime now{};
  Pass(size, now, 1000, 4, milliseconds(500));
  EXPECT_EQ(size.items(), 32U) << "from 19 on, half a second is enough";
}

TEST(LeaseSize, GrowsWhileLeasesEndTooSoonUpToASixteenthOfAnEpoch) {
  LeaseSize size(500);
  MonotonicTime now{};
  Pass(size, now, 17, 4, milliseconds(2));
  EXPECT_EQ(size.items(), 2U);
  Pass(size, now, 16, 4, milliseconds(4));
  EXPECT_EQ(size.items(), 4U);
  Pass(size, now, 160, 4, milliseconds(8));
  EXPECT_EQ(size.items(), 500U / 16);
}

TEST(LeaseSize, StaysWhereALeaseLastsLongEnough) {
  LeaseSize size(500);
  MonotonicTime now{};
  Pass(size, now, 1000, 4, milliseconds(350));
  EXPECT_EQ(size.items(), 1U);
}

TEST(LeaseSize, ManyWorkersThatAskOftenHoldEachLeaseForLong) {
  LeaseSize size(500);
  MonotonicTime now{};
  Pass(size, now, 1000, 64, milliseconds(640));  // one every 10 ms
  EXPECT_EQ(size.items(), 1U);
}

TEST(LeaseSize, ShrinksWhenItemsTakeLonger) {
  LeaseSize size(5000);
  MonotonicTime now{};
  Pass(size, now, 200, 2, milliseconds(10));
  EXPECT_EQ(size.items(), 5000U / 16);
  Pass(size, now, 17, 2, seconds(3));
  EXPECT_EQ(size.items(), 5000U / 32);
  Pass(size, now, 200, 2, seconds(3));
  EXPECT_EQ(size.items(), 5000U / 256) << "as large as usual";
  Pass(size, now, 17, 2, seconds(30));
  EXPECT_EQ(size.items(), 5000U / 256 / 2);
  Pass(size, now, 200, 2, seconds(30));
  EXPECT_EQ(size.items(), 1U);
}

TEST(LeaseSize, APauseOfTheWholeJobDoesNotMakeLeasesLarger) {
  LeaseSize size(5000);
  MonotonicTime now{};
  Pass(size, now, 200, 2, milliseconds(350));
  const uint64_t before = size.items();
  now += seconds(600);
  Pass(size, now, 200, 2, milliseconds(350));
  EXPECT_EQ(size.items(), before);
}

}  // namespace
}  // namespace attune::ps::lease_size_test
