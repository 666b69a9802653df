#include "ps/core/intent/copy_yield.h"

#include <gtest/gtest.h>

namespace attune::ps::copy_yield_test {
namespace {

// So many steps, with so many copies that come and so many reads in each.
void Go(CopyYield& yield, int steps, int copies, int reads) {
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < copies; ++i) yield.Given();
    for (int i = 0; i < reads; ++i) yield.Served();
    yield.StepBegan();
  }
}

TEST(CopyYield, AsksForRowsThatAreUsedTwiceAsLongAsCopiesAreRead) {
  CopyYield yield;
  Go(yield, 10'000, 1, 20);
  EXPECT_EQ(yield.uses_min(), 2U);
  Go(yield, 10'000, 1, 4);
  EXPECT_EQ(yield.uses_min(), 2U) << "neither few reads nor many";
}

TEST(CopyYield, AsksForFewerRowsWhereCopiesAreHardlyRead) {
  CopyYield yield;
  Go(yield, 511, 1, 1);
  EXPECT_EQ(yield.uses_min(), 2U) << "too early to judge";
  Go(yield, 1, 1, 1);
  EXPECT_EQ(yield.uses_min(), 4U);
  Go(yield, 10'000, 1, 0);
  EXPECT_EQ(yield.uses_min(), 64U) << "the most";
  Go(yield, 512, 1, 20);
  EXPECT_EQ(yield.uses_min(), 32U);
}

// One answer brings thousands, and they are read for the rest of the job.
TEST(CopyYield, CopiesThatComeAtOnceAreJudgedByWhatIsReadLater) {
  CopyYield yield;
  for (int i = 0; i < 5'000; ++i) yield.Given();
  Go(yield, 511, 0, 100);
  EXPECT_EQ(yield.uses_min(), 2U);
  for (int i = 0; i < 20'000; ++i) yield.Given();
  Go(yield, 512, 0, 100);
  EXPECT_EQ(yield.uses_min(), 4U) << "twice each is little";
}

TEST(CopyYield, TriesAgainAfterALongTime) {
  CopyYield yield;
  Go(yield, 1024, 1, 0);
  ASSERT_EQ(yield.uses_min(), 8U);
  Go(yield, 8192, 0, 0);
  EXPECT_EQ(yield.uses_min(), 4U);
  Go(yield, 100'000, 0, 0);
  EXPECT_EQ(yield.uses_min(), 2U);
}

}  // namespace
}  // namespace attune::ps::copy_yield_test
