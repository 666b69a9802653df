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

TEST(LeaseSize, BeginsWithTheTwoHundredFiftySixthPartOfAnEpochAndAtLeastOneItem) {
  EXPECT_EQ(LeaseSize(1).items(), 1U);
  EXPECT_EQ(LeaseSize(500).items(), 1U);
  EXPECT_EQ(LeaseSize(50'000).items(), 195U);
}

TEST(LeaseSize, GrowsWhileLeasesEndSoonerThanAMessageTakesUpToASixteenthOfAnEpoch) {
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
  Pass(size, now, 1000, 4, milliseconds(150));
  EXPECT_EQ(size.items(), 1U);
}

TEST(LeaseSize, ManyWorkersThatAskOftenHoldEachLeaseForLong) {
  LeaseSize size(500);
  MonotonicTime now{};
  Pass(size, now, 1000, 64, milliseconds(640));  // one every 10 ms
  EXPECT_EQ(size.items(), 1U);
}

TEST(LeaseSize, ShrinksToWhereItBeganWhenItemsTakeLonger) {
  LeaseSize size(5000);
  MonotonicTime now{};
  Pass(size, now, 100, 2, milliseconds(10));
  EXPECT_EQ(size.items(), 5000U / 16);
  Pass(size, now, 17, 2, seconds(3));
  EXPECT_EQ(size.items(), 5000U / 32);
  Pass(size, now, 200, 2, seconds(3));
  EXPECT_EQ(size.items(), 5000U / 256);
}

TEST(LeaseSize, APauseOfTheWholeJobDoesNotMakeLeasesLarger) {
  LeaseSize size(5000);
  MonotonicTime now{};
  Pass(size, now, 17, 2, milliseconds(300));
  now += seconds(600);
  Pass(size, now, 200, 2, milliseconds(300));
  EXPECT_EQ(size.items(), 5000U / 256);
}

}  // namespace
}  // namespace attune::ps::lease_size_test
