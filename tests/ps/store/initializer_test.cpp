#include "ps/store/formulas/initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune::ps::initializer_test {
namespace {

std::vector<float> Row(const Initializer& initializer, uint64_t seed, const char* table, Key key, size_t dim = 16) {
  std::vector<float> values(dim);
  RowInitializer(initializer, seed, table).Fill(key, values);
  return values;
}

TEST(Initializer, DependsOnSeedTableKeyAndPositionOnly) {
  for (const Initializer& initializer : {Initializer(UniformInitializer{}), Initializer(NormalInitializer{})}) {
    const std::vector<float> row = Row(initializer, 1, "a", 7);
    EXPECT_EQ(row, Row(initializer, 1, "a", 7));
    EXPECT_NE(row, Row(initializer, 2, "a", 7));
    EXPECT_NE(row, Row(initializer, 1, "b", 7));
    EXPECT_NE(row, Row(initializer, 1, "a", 8));
    const std::vector<float> longer = Row(initializer, 1, "a", 7, 32);
    EXPECT_EQ(row, std::vector<float>(longer.begin(), longer.begin() + 16)) << "positions do not depend on dim";
    EXPECT_NE(row[0], row[1]);
  }
}

// Recorded once: a change would make saved models disagree with their untouched rows.
TEST(Initializer, ValuesStayTheSameFromReleaseToRelease) {
  EXPECT_FLOAT_EQ(Row(UniformInitializer{-1, 1}, 1, "embedding", 42)[3], 0.584522843F);
  EXPECT_FLOAT_EQ(Row(NormalInitializer{0, 1}, 1, "embedding", 42)[3], -0.612250686F);
}

TEST(Initializer, ConstantFillsTheRow) {
  EXPECT_EQ(Row(ConstantInitializer{0.5F}, 1, "a", 1), std::vector<float>(16, 0.5F));
}

TEST(Initializer, UniformStaysInItsRangeAndFillsIt) {
  double sum = 0;
  float low = 1, high = -1;
  constexpr size_t kRows = 1000, kDim = 64;
  for (Key key = 0; key < kRows; ++key) {
    for (const float value : Row(UniformInitializer{-0.5F, 0.25F}, 3, "a", key, kDim)) {
      ASSERT_GE(value, -0.5F);
      ASSERT_LE(value, 0.25F);
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
  }
  EXPECT_LT(low, -0.499F);
  EXPECT_GT(high, 0.249F);
  EXPECT_NEAR(sum / (kRows * kDim), -0.125, 0.005);
}

TEST(Initializer, NormalHasMeanAndDeviation) {
  double sum = 0, squares = 0;
  constexpr size_t kRows = 1000, kDim = 64;
  for (Key key = 0; key < kRows; ++key) {
    for (const float value : Row(NormalInitializer{2.0F, 0.5F}, 3, "a", key, kDim)) {
      ASSERT_TRUE(std::isfinite(value));
      sum += value;
      squares += (value - 2.0) * (value - 2.0);
    }
  }
  EXPECT_NEAR(sum / (kRows * kDim), 2.0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / (kRows * kDim)), 0.5, 0.01);
}

}  // namespace
}  // namespace attune::ps::initializer_test
