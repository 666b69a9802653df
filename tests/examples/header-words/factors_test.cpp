#include "examples/header-words/factors.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace attune::header_words::factors_test {
namespace {

constexpr FactorOptions kOptions = {.dim = 3, .mean = 0.4F, .regularization = 0.1F};

Batch SmallBatch() {
  return {.headers = {5, 9},
          .identifiers = {1, 2, 7},
          .header_rows = {0, 0, 1, 1},
          .identifier_rows = {0, 2, 1, 2},
          .values = {0.7F, 0, 1.4F, 0}};
}

Rows RandomRows(const Batch& batch) {
  Rows rows;
  rows.Resize(batch, kOptions.dim);
  Random random(3);
  for (auto* values : {&rows.headers, &rows.identifiers}) {
    for (float& value : *values) value = static_cast<float>(random.Normal()) / 2;
  }
  return rows;
}

// In doubles, cell by cell, straight from the definition.
double LossOf(const Batch& batch, const Rows& rows) {
  constexpr size_t kStride = kOptions.dim + 1;
  double loss = 0;
  for (size_t cell = 0; cell < batch.cells(); ++cell) {
    const float* header = &rows.headers[batch.header_rows[cell] * kStride];
    const float* identifier = &rows.identifiers[batch.identifier_rows[cell] * kStride];
    double predicted = static_cast<double>(kOptions.mean) + header[kOptions.dim] + identifier[kOptions.dim];
    double squares = 0;
    for (size_t i = 0; i < kOptions.dim; ++i) {
      predicted += static_cast<double>(header[i]) * identifier[i];
      squares += static_cast<double>(header[i]) * header[i] + static_cast<double>(identifier[i]) * identifier[i];
    }
    const double error = predicted - batch.values[cell];
    loss += (error * error + kOptions.regularization * squares) / 2;
  }
  return loss;
}

TEST(FactorsTest, TheLossIsTheSumOfSquaredErrors) {
  const Batch batch = SmallBatch();
  Rows rows, gradients;
  rows.Resize(batch, kOptions.dim);  // all 0: the mean is predicted
  const double expected = 0.3 * 0.3 + 0.4 * 0.4 + 1.0 * 1.0 + 0.4 * 0.4;
  EXPECT_NEAR(LossAndGradients(batch, kOptions, rows, gradients), expected, 1e-5);
}

TEST(FactorsTest, GradientsAreThoseOfTheDefinition) {
  const Batch batch = SmallBatch();
  Rows rows = RandomRows(batch), gradients;
  LossAndGradients(batch, kOptions, rows, gradients);
  constexpr float kStep = 1e-3F;
  for (auto [values, derivatives] :
       {std::pair(&rows.headers, &gradients.headers), std::pair(&rows.identifiers, &gradients.identifiers)}) {
    ASSERT_EQ(values->size(), derivatives->size());
    for (size_t i = 0; i < values->size(); ++i) {
      const float before = (*values)[i];
      (*values)[i] = before + kStep;
      const double above = LossOf(batch, rows);
      (*values)[i] = before - kStep;
      const double below = LossOf(batch, rows);
      (*values)[i] = before;
      EXPECT_NEAR((*derivatives)[i], (above - below) / (2 * static_cast<double>(kStep)), 2e-3) << "value " << i;
    }
  }
}

}  // namespace
}  // namespace attune::header_words::factors_test
