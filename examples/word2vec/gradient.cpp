#include "examples/word2vec/gradient.h"

#include <algorithm>
#include <bit>
#include <cmath>

// Compiled once for each instruction set; the loader picks. (The thread sanitizer is not ready yet when it does.)
#if defined(__x86_64__) && !defined(__clang__) && !defined(ATTUNE_THREAD_SANITIZER)
#define ATTUNE_EACH_PROCESSOR [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define ATTUNE_EACH_PROCESSOR
#endif
#define ATTUNE_INLINE [[gnu::always_inline]] inline  // into each of them

namespace attune::word2vec {
namespace {

constexpr float kScoreMax = 15;  // s(15) is 1 - 3e-7; a product of 40 such s(-15) is within double's range

// exp for |x| <= 15, relative error below 3e-7: 2^n * p(f), written so that loops over it are vectorized.
ATTUNE_INLINE float FastExp(float x) {
  const float scaled = x * 1.44269504F;
  const float n = std::floor(scaled + 0.5F);
  const float f = (scaled - n) * 0.693147181F;  // in +-0.35
  const float p =
      1 + f * (1 + f * (0.5F + f * (0.166666667F + f * (0.0416666667F + f * (0.00833333333F + f * 0.00138888889F)))));
  return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}
ATTUNE_INLINE float Sigmoid(float x) { return 1 / (1 + FastExp(-std::clamp(x, -kScoreMax, kScoreMax))); }

ATTUNE_INLINE float Dot(const float* a, const float* b, size_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// a += s * x
ATTUNE_INLINE void AddScaled(float* __restrict a, float s, const float* __restrict x, size_t n) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) a[i] += s * x[i];
}

// One word against the negatives of its group; `columns` holds them side by side, so that all scores grow together.
// Returns the word's part of the loss and leaves s(score) of each in `scores`.
ATTUNE_INLINE double ScoreNegatives(const float* input, size_t dim, const float* columns, size_t k, float* scores) {
  std::fill_n(scores, k, 0.0F);
  for (size_t d = 0; d < dim; ++d) AddScaled(scores, input[d], columns + d * k, k);
#pragma omp simd
  for (size_t i = 0; i < k; ++i) scores[i] = Sigmoid(scores[i]);
  double product = 1;
  for (size_t i = 0; i < k; ++i) product *= 1 - std::min(scores[i], 0.9999997F);
  return -std::log(product);
}

}  // namespace

ATTUNE_EACH_PROCESSOR
double LossAndGradients(const Batch& batch, const BatchOptions& options, size_t dim, const BatchRows& rows,
                        BatchRows& gradients) {
  thread_local std::vector<float> columns, scores;
  const size_t k = options.group_negatives;
  columns.resize(dim * k);
  scores.resize(k);
  gradients.inputs.assign(rows.inputs.size(), 0);
  gradients.outputs.assign(rows.outputs.size(), 0);
  double loss = 0;
  for (size_t w = 0; w < batch.inputs.size(); ++w) {
    const uint32_t* negatives = &batch.negatives[w / options.group_words * k];
    for (size_t i = 0; w % options.group_words == 0 && i < k; ++i) {
      for (size_t d = 0; d < dim; ++d) columns[d * k + i] = rows.outputs[negatives[i] * dim + d];
    }
    const float* input = &rows.inputs[batch.inputs[w] * dim];
    float* input_gradient = &gradients.inputs[batch.inputs[w] * dim];
    const uint32_t begin = batch.pairs_begin[w], end = batch.pairs_begin[w + 1];

    const float weight = static_cast<float>(end - begin) * options.negatives / static_cast<float>(k);
    loss += weight * ScoreNegatives(input, dim, columns.data(), k, scores.data());
    for (size_t i = 0; i < k; ++i) {
      AddScaled(input_gradient, weight * scores[i], &rows.outputs[negatives[i] * dim], dim);
      AddScaled(&gradients.outputs[negatives[i] * dim], weight * scores[i], input, dim);
    }
    double product = 1;
    for (uint32_t pair = begin; pair < end; ++pair) {
      const size_t neighbor = batch.pairs[pair] * dim;
      const float s = Sigmoid(Dot(input, &rows.outputs[neighbor], dim));
      product *= s;
      AddScaled(input_gradient, s - 1, &rows.outputs[neighbor], dim);
      AddScaled(&gradients.outputs[neighbor], s - 1, input, dim);
    }
    loss -= std::log(product);
  }
  return loss;
}

}  // namespace attune::word2vec
