// Matrix products and the softmax loss: where small networks and embeddings spend their time. float32, row by row in
// memory, compiled for several instruction sets. Pure; one thread a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attune::examples {

// A matrix in memory of another owner.
struct Matrix {
  const float* values = nullptr;
  size_t rows = 0, columns = 0;
  size_t row_stride = columns, column_stride = 1;  // between neighbors in a column and in a row

  Matrix Transposed() const { return {values, columns, rows, column_stride, row_stride}; }
};
struct MutableMatrix {
  float* values = nullptr;
  size_t rows = 0, columns = 0;
  size_t row_stride = columns;

  operator Matrix() const { return {values, rows, columns, row_stride, 1}; }
};

// c += a * b. Shapes must agree; c overlaps neither.
void AddProduct(const Matrix& a, const Matrix& b, const MutableMatrix& c);

// Each row of `scores` says how likely each column is, as logits. Returns the sum over rows of -log p(right[row]) and
// turns the scores into the derivative of that sum: p(column), less 1 in the right one. Scores more than 80 below their
// row's largest count as 80 below.
double SoftmaxLoss(const MutableMatrix& scores, std::span<const uint32_t> right);

}  // namespace attune::examples
