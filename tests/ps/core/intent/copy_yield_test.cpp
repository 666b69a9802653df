#include "ps/core/intent/copy_yield.h"

#include <gtest/gtest.h>

namespace attune::ps::copy_yield_test {
namespace {

void Give(CopyYield& yield, int copies, int reads_each) {
  for (int i = 0; i < copies; ++i) {
    for (int read = 0; read < reads_each; ++read) yield.Served();
    yield.Given();
  }
}

TEST(CopyYield, AsksForRowsThatAreUsedTwiceAsLongAsCopiesAreRead) {
  CopyYield yield;
  Give(yield, 10'000, 20);
  EXPECT_EQ(yield.uses_min(), 2U);
  Give(yield, 10'000, 4);
  EXPECT_EQ(yield.uses_min(), 2U) << "neither few reads nor many";
}

TEST(CopyYield, AsksForFewerRowsWhereCopiesAreHardlyRead) {
  CopyYield yield;
  Give(yield, 255, 1);
  EXPECT_EQ(yield.uses_min(), 2U) << "too few to judge";
  Give(yield, 1, 1);
  EXPECT_EQ(yield.uses_min(), 4U);
  Give(yield, 100'000, 0);
  EXPECT_EQ(yield.uses_min(), 64U) << "the most";
  Give(yield, 256, 20);
  EXPECT_EQ(yield.uses_min(), 32U);
}

TEST(CopyYield, TriesAgainAfterALongTime) {
  CopyYield yield;
  Give(yield, 512, 0);
  ASSERT_EQ(yield.uses_min(), 8U);
  for (int i = 0; i < 8192; ++i) yield.StepBegan();
  EXPECT_EQ(yield.uses_min(), 4U);
  for (int i = 0; i < 100'000; ++i) yield.StepBegan();
  EXPECT_EQ(yield.uses_min(), 2U);
}

}  // namespace
}  // namespace attune::ps::copy_yield_test
