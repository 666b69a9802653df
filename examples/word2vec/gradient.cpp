#include "examples/word2vec/gradient.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#define ATTUNE_INLINE [[gnu::always_inline]] inline

namespace attune::word2vec {
namespace {

constexpr float kScoreMax = 15;  // s(15) is 1 - 3e-7; it keeps products of s within double's range too

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
  for (size_t i = 0; i < n; ++i) a[i] += s * x[i];
}

struct Scratch {
  std::vector<float> negatives;             // group_negatives x dim
  std::vector<float> negatives_transposed;  // dim x group_negatives
  std::vector<float> negative_gradients;    // group_negatives x dim
  std::vector<float> scores;                // group_negatives
};

void LoadNegatives(const uint32_t* rows_of_group, size_t k, size_t dim, const BatchRows& rows, Scratch& scratch) {
  scratch.negatives.resize(k * dim);
  scratch.negatives_transposed.resize(k * dim);
  scratch.negative_gradients.assign(k * dim, 0);
  scratch.scores.resize(k);
  for (size_t i = 0; i < k; ++i) {
    const float* row = &rows.outputs[rows_of_group[i] * dim];
    std::copy_n(row, dim, &scratch.negatives[i * dim]);
    for (size_t d = 0; d < dim; ++d) scratch.negatives_transposed[d * k + i] = row[d];
  }
}

// One word against its group's negatives; returns their part of the loss.
template <bool with_gradients>
ATTUNE_INLINE double MeetNegatives(const float* input, float weight, size_t k, size_t dim, float* input_gradient,
                                   Scratch& scratch) {
  float* __restrict scores = scratch.scores.data();
  const float* __restrict transposed = scratch.negatives_transposed.data();
  std::fill_n(scores, k, 0.0F);
  for (size_t d = 0; d < dim; ++d) AddScaled(scores, input[d], transposed + d * k, k);
  for (size_t i = 0; i < k; ++i) scores[i] = Sigmoid(scores[i]);
  double product = 1;  // of at most a few dozen factors >= 3e-7 between two logarithms
  double loss = 0;
  for (size_t i = 0; i < k; ++i) {
    product *= 1 - std::min(scores[i], 0.9999997F);
    if (i % 32 == 31) loss -= std::log(std::exchange(product, 1));
  }
  loss -= std::log(product);
  if constexpr (with_gradients) {
    for (size_t i = 0; i < k; ++i) {
      const float slope = weight * scores[i];
      AddScaled(input_gradient, slope, &scratch.negatives[i * dim], dim);
      AddScaled(&scratch.negative_gradients[i * dim], slope, input, dim);
    }
  }
  return weight * loss;
}

template <bool with_gradients>
ATTUNE_INLINE double MeetNeighbors(const float* input, std::span<const uint32_t> neighbors, size_t dim,
                                   float* input_gradient, const BatchRows& rows, BatchRows* gradients) {
  double product = 1;  // of at most 2 * window factors
  for (const uint32_t neighbor : neighbors) {
    const float* output = &rows.outputs[neighbor * dim];
    const float s = Sigmoid(Dot(input, output, dim));
    product *= s;
    if constexpr (with_gradients) {
      AddScaled(input_gradient, s - 1, output, dim);
      AddScaled(&gradients->outputs[neighbor * dim], s - 1, input, dim);
    }
  }
  return -std::log(product);
}

template <bool with_gradients>
ATTUNE_INLINE double Body(const Batch& batch, const BatchOptions& options, size_t dim, const BatchRows& rows,
                          BatchRows* gradients) {
  thread_local Scratch scratch;
  double loss = 0;
  for (size_t g = 0; g + 1 < batch.groups.size(); ++g) {
    const uint32_t* negatives = &batch.negatives[batch.groups[g].negatives_begin];
    const size_t k = batch.groups[g + 1].negatives_begin - batch.groups[g].negatives_begin;
    LoadNegatives(negatives, k, dim, rows, scratch);
    for (size_t w = batch.groups[g].words_begin; w < batch.groups[g + 1].words_begin; ++w) {
      const Batch::Word& word = batch.words[w];
      const size_t pairs = batch.words[w + 1].pairs_begin - word.pairs_begin;
      if (pairs == 0) continue;
      const float* input = &rows.inputs[word.input * dim];
      float* input_gradient = with_gradients ? &gradients->inputs[word.input * dim] : nullptr;
      const float weight = static_cast<float>(pairs) * options.negatives / static_cast<float>(k);
      loss += MeetNegatives<with_gradients>(input, weight, k, dim, input_gradient, scratch);
      loss += MeetNeighbors<with_gradients>(input, std::span(batch.pairs).subspan(word.pairs_begin, pairs), dim,
                                            input_gradient, rows, gradients);
    }
    if constexpr (with_gradients) {
      for (size_t i = 0; i < k; ++i) {
        AddScaled(&gradients->outputs[negatives[i] * dim], 1, &scratch.negative_gradients[i * dim], dim);
      }
    }
  }
  return loss;
}

// One function per instruction set; see ps/store/optimizer.cpp.
using BodyFunction = double (*)(const Batch&, const BatchOptions&, size_t, const BatchRows&, BatchRows*);
double Portable(const Batch& b, const BatchOptions& o, size_t dim, const BatchRows& r, BatchRows* g) {
  return Body<true>(b, o, dim, r, g);
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double Avx2(const Batch& b, const BatchOptions& o, size_t dim, const BatchRows& r,
                                        BatchRows* g) {
  return Body<true>(b, o, dim, r, g);
}
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")]] double Avx512(
    const Batch& b, const BatchOptions& o, size_t dim, const BatchRows& r, BatchRows* g) {
  return Body<true>(b, o, dim, r, g);
}
#endif

BodyFunction Best() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return Avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2;
#endif
  return Portable;
}

}  // namespace

double LossAndGradients(const Batch& batch, const BatchOptions& options, size_t dim, const BatchRows& rows,
                        BatchRows& gradients) {
  static const BodyFunction best = Best();
  gradients.inputs.assign(rows.inputs.size(), 0);
  gradients.outputs.assign(rows.outputs.size(), 0);
  return best(batch, options, dim, rows, &gradients);
}

double Loss(const Batch& batch, const BatchOptions& options, size_t dim, const BatchRows& rows) {
  return Body<false>(batch, options, dim, rows, nullptr);
}

}  // namespace attune::word2vec
