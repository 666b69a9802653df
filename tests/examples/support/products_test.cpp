#include "examples/support/products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace attune::examples::products_test {
namespace {

std::vector<float> RandomValues(size_t n, Random& random, float scale = 1) {
  std::vector<float> values(n);
  for (float& value : values) value = scale * (2 * random.UniformFloat() - 1);
  return values;
}

// The obvious product, element by element, in double.
double Element(const Matrix& a, const Matrix& b, size_t row, size_t column) {
  double sum = 0;
  for (size_t i = 0; i < a.columns; ++i) {
    sum += double{a.values[row * a.row_stride + i * a.column_stride]} *
           b.values[i * b.row_stride + column * b.column_stride];
  }
  return sum;
}

TEST(Products, AreThoseOfTheDefinitionInEveryShapeAndOrientation) {
  Random random(1);
  constexpr size_t kSizes[] = {1, 5, 6, 7, 16, 33};
  for (const size_t m : kSizes) {
    for (const size_t n : kSizes) {
      for (const size_t k : {1, 2, 17, 64}) {
        for (const bool a_transposed : {false, true}) {
          for (const bool b_transposed : {false, true}) {
            const std::vector<float> a_values = RandomValues(m * k, random), b_values = RandomValues(k * n, random);
            const Matrix a = a_transposed ? Matrix{a_values.data(), k, m}.Transposed() : Matrix{a_values.data(), m, k};
            const Matrix b = b_transposed ? Matrix{b_values.data(), n, k}.Transposed() : Matrix{b_values.data(), k, n};
            const size_t stride = n + 3;
            const std::vector<float> before = RandomValues(m * stride, random);
            std::vector<float> after = before;
            AddProduct(a, b, {after.data(), m, n, stride});
            for (size_t i = 0; i < m; ++i) {
              for (size_t j = 0; j < stride; ++j) {
                const double want = before[i * stride + j] + (j < n ? Element(a, b, i, j) : 0);
                ASSERT_NEAR(after[i * stride + j], want, 1e-5) << m << 'x' << k << 'x' << n << " at " << i << ',' << j;
              }
            }
          }
        }
      }
    }
  }
}

TEST(SoftmaxLoss, LossAndDerivativeAreThoseOfTheDefinition) {
  Random random(2);
  constexpr size_t kRows = 5, kColumns = 37, kStride = 40;
  const std::vector<float> scores = RandomValues(kRows * kStride, random, 4);
  std::vector<uint32_t> right(kRows);
  for (uint32_t& column : right) column = static_cast<uint32_t>(random.Below(kColumns));
  std::vector<float> gradient = scores;
  const double loss = SoftmaxLoss({gradient.data(), kRows, kColumns, kStride}, right);
  double want = 0;
  for (size_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (size_t j = 0; j < kColumns; ++j) sum += std::exp(double{scores[i * kStride + j]});
    want += std::log(sum) - scores[i * kStride + right[i]];
    for (size_t j = 0; j < kStride; ++j) {
      const double p = std::exp(double{scores[i * kStride + j]}) / sum - (j == right[i] ? 1 : 0);
      ASSERT_NEAR(gradient[i * kStride + j], j < kColumns ? p : scores[i * kStride + j], 1e-6);
    }
  }
  EXPECT_NEAR(loss, want, 1e-5);
}

TEST(SoftmaxLoss, StaysFiniteForHugeScores) {
  std::vector<float> scores = {-3e30F, 1e30F, 0, 5, 5, 5};
  const double loss = SoftmaxLoss({scores.data(), 2, 3}, std::vector<uint32_t>{1, 2});
  EXPECT_NEAR(loss, std::log(3.0), 1e-6);
  for (const float value : scores) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace attune::examples::products_test
