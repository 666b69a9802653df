#include "examples/support/products.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.h"

// Compiled once for each instruction set; the loader picks. (The thread sanitizer is not ready yet when it does.)
#if defined(__x86_64__) && !defined(__clang__) && !defined(ATTUNE_THREAD_SANITIZER)
#define ATTUNE_EACH_PROCESSOR [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define ATTUNE_EACH_PROCESSOR
#endif
#define ATTUNE_INLINE [[gnu::always_inline]] inline  // into each of them

namespace attune::examples {
namespace {

// A tile of c is kept in registers while a panel of rows of a and a panel of columns of b run past it. Panels are
// packed: contiguous in the order of use, with zeros for what lies outside the matrix.
constexpr size_t kTileRows = 6, kVectorFloats = 8, kTileVectors = 2, kTileColumns = kVectorFloats * kTileVectors;
typedef float Vector __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(alignof(float))));

// panel[i * kWidth + j] = a[first_row + j, i]
template <size_t kWidth>
void PackPanel(const Matrix& a, size_t first_row, float* panel) {
  const size_t rows = std::min(kWidth, a.rows - first_row);
  const float* from = a.values + first_row * a.row_stride;
  if (rows == kWidth && a.row_stride == 1) {
    for (size_t i = 0; i < a.columns; ++i) {
      for (size_t j = 0; j < kWidth; ++j) panel[i * kWidth + j] = from[i * a.column_stride + j];
    }
    return;
  }
  if (rows < kWidth) std::fill_n(panel, a.columns * kWidth, 0.0F);
  for (size_t j = 0; j < rows; ++j) {
    const float* row = from + j * a.row_stride;
    for (size_t i = 0; i < a.columns; ++i) panel[i * kWidth + j] = row[i * a.column_stride];
  }
}

// tile = a's panel * b's panel, `depth` long.
ATTUNE_EACH_PROCESSOR
void MultiplyPanels(const float* a, const float* b, size_t depth, float* tile) {
  Vector sums[kTileRows][kTileVectors] = {};
  for (size_t i = 0; i < depth; ++i) {
    Vector columns[kTileVectors];
    for (size_t v = 0; v < kTileVectors; ++v) {
      columns[v] = *reinterpret_cast<const Vector*>(b + i * kTileColumns + v * kVectorFloats);
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < kTileRows; ++r) {
      for (size_t v = 0; v < kTileVectors; ++v) sums[r][v] += a[i * kTileRows + r] * columns[v];
    }
  }
  for (size_t r = 0; r < kTileRows; ++r) {
    for (size_t v = 0; v < kTileVectors; ++v) {
      *reinterpret_cast<Vector*>(tile + r * kTileColumns + v * kVectorFloats) = sums[r][v];
    }
  }
}

// exp for -87 < x < 88, relative error below 3e-7: 2^n * p(f), written so that loops over it are vectorized.
ATTUNE_INLINE float FastExp(float x) {
  const float scaled = x * 1.44269504F;
  const float n = std::floor(scaled + 0.5F);
  const float f = (scaled - n) * 0.693147181F;  // in +-0.35
  const float p =
      1 + f * (1 + f * (0.5F + f * (0.166666667F + f * (0.0416666667F + f * (0.00833333333F + f * 0.00138888889F)))));
  return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

// row becomes exp(row - largest); returns its sum.
ATTUNE_EACH_PROCESSOR
float ExpRow(float* row, size_t n, float largest) {
  constexpr float kScoreMin = -80;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; ++i) {
    row[i] = FastExp(std::max(row[i] - largest, kScoreMin));
    sum += row[i];
  }
  return sum;
}

}  // namespace

void AddProduct(const Matrix& a, const Matrix& b, const MutableMatrix& c) {
  ATTUNE_CHECK(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns) << "matrix shapes disagree";
  const size_t depth = a.columns;
  const auto up = [](size_t n, size_t tile) { return (n + tile - 1) / tile * tile; };
  thread_local std::vector<float> a_panels, b_panel;
  a_panels.resize(up(a.rows, kTileRows) * depth);
  b_panel.resize(kTileColumns * depth);
  for (size_t i = 0; i < a.rows; i += kTileRows) PackPanel<kTileRows>(a, i, &a_panels[i * depth]);
  for (size_t j = 0; j < b.columns; j += kTileColumns) {
    PackPanel<kTileColumns>(b.Transposed(), j, b_panel.data());
    const size_t columns = std::min(kTileColumns, b.columns - j);
    for (size_t i = 0; i < a.rows; i += kTileRows) {
      std::array<float, kTileRows * kTileColumns> tile;
      MultiplyPanels(&a_panels[i * depth], b_panel.data(), depth, tile.data());
      for (size_t r = 0; r < std::min(kTileRows, a.rows - i); ++r) {
        float* to = c.values + (i + r) * c.row_stride + j;
        const float* from = &tile[r * kTileColumns];
        if (columns == kTileColumns) {  // of known length: without a loop
          for (size_t q = 0; q < kTileColumns; ++q) to[q] += from[q];
        } else {
          for (size_t q = 0; q < columns; ++q) to[q] += from[q];
        }
      }
    }
  }
}

double SoftmaxLoss(const MutableMatrix& scores, std::span<const uint32_t> right) {
  ATTUNE_CHECK(right.size() == scores.rows && scores.columns > 0) << "one right column for each row";
  double loss = 0;
  for (size_t i = 0; i < scores.rows; ++i) {
    float* row = scores.values + i * scores.row_stride;
    const float largest = *std::max_element(row, row + scores.columns);
    const float right_score = row[right[i]] - largest;
    const float sum = ExpRow(row, scores.columns, largest);
    loss += std::log(double{sum}) - double{right_score};
    const float scale = 1 / sum;
    for (size_t q = 0; q < scores.columns; ++q) row[q] *= scale;
    row[right[i]] -= 1;
  }
  return loss;
}

}  // namespace attune::examples
