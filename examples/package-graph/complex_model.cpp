#include "examples/package-graph/complex_model.h"

#include <algorithm>
#include <cmath>

#include "examples/support/products.h"

namespace attune::package_graph {
namespace {

// a * b, or conj(a) * b, added to `product`; n complex numbers each.
void AddComplexProduct(const float* a, const float* b, size_t n, bool conjugate, float* __restrict product) {
  const float sign = conjugate ? -1.0F : 1.0F;
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    product[i] += a[i] * b[i] - sign * a[i + n] * b[i + n];
    product[i + n] += a[i] * b[i + n] + sign * a[i + n] * b[i];
  }
}

float Dot(const float* a, const float* b, size_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void AddScaled(float* __restrict a, float scale, const float* __restrict x, size_t n) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) a[i] += scale * x[i];
}

// The derivative of scale / 3 * sum of |x|^3.
void AddCubeGradient(const float* x, size_t n, float scale, float* __restrict gradient) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const float weight = scale * std::sqrt(x[i] * x[i] + x[i + n] * x[i + n]);
    gradient[i] += weight * x[i];
    gradient[i + n] += weight * x[i + n];
  }
}

// Both sides of all links as queries: 2 * links rows. The right end of query i has the batch's row number right[i].
struct Queries {
  std::vector<float> values;
  std::vector<uint32_t> right;
};

void MakeQueries(const Batch& batch, size_t dim, const Rows& rows, Queries& queries) {
  const size_t links = batch.heads.size();
  queries.values.resize(2 * links * dim);
  queries.right.resize(2 * links);
  for (size_t i = 0; i < links; ++i) {
    const float* relation = &rows.relations[static_cast<size_t>(batch.relations[i]) * dim];
    MakeQuery(Side::kTail, &rows.entities[batch.heads[i] * dim], relation, dim, &queries.values[i * dim]);
    MakeQuery(Side::kHead, &rows.entities[batch.tails[i] * dim], relation, dim, &queries.values[(links + i) * dim]);
    queries.right[i] = batch.tails[i];
    queries.right[links + i] = batch.heads[i];
  }
}

// From the derivatives by the queries to those by what they were made of.
void AddQueryGradients(const Batch& batch, size_t dim, const Rows& rows, const std::vector<float>& by_query,
                       Rows& gradients) {
  const size_t links = batch.heads.size(), n = dim / 2;
  for (size_t i = 0; i < links; ++i) {
    const size_t relation_at = static_cast<size_t>(batch.relations[i]) * dim;
    const float *head = &rows.entities[batch.heads[i] * dim], *tail = &rows.entities[batch.tails[i] * dim],
                *relation = &rows.relations[relation_at];
    const float *by_tail_query = &by_query[i * dim], *by_head_query = &by_query[(links + i) * dim];
    float* by_relation = &gradients.relations[relation_at];
    // q = h r: dh = conj(r) dq, dr = conj(h) dq.   q = conj(r) t: dt = r dq, dr = conj(dq) t.
    AddComplexProduct(relation, by_tail_query, n, true, &gradients.entities[batch.heads[i] * dim]);
    AddComplexProduct(head, by_tail_query, n, true, by_relation);
    AddComplexProduct(relation, by_head_query, n, false, &gradients.entities[batch.tails[i] * dim]);
    AddComplexProduct(by_head_query, tail, n, true, by_relation);
  }
}

}  // namespace

void MakeQuery(Side asked, const float* known, const float* relation, size_t dim, float* query) {
  std::fill_n(query, dim, 0.0F);
  AddComplexProduct(relation, known, dim / 2, asked == Side::kHead, query);
}

double LossAndGradients(const Batch& batch, size_t dim, float regularization, const Rows& rows, Rows& gradients) {
  thread_local Queries queries;
  thread_local std::vector<float> negatives, scores, by_query, by_negative;
  thread_local std::vector<uint32_t> last;
  gradients.entities.assign(rows.entities.size(), 0);
  gradients.relations.assign(rows.relations.size(), 0);
  const size_t links = batch.heads.size(), k = batch.negatives.size(), columns = k + 1;
  if (links == 0) return 0;
  MakeQueries(batch, dim, rows, queries);
  negatives.resize(k * dim);
  for (size_t i = 0; i < k; ++i) std::copy_n(&rows.entities[batch.negatives[i] * dim], dim, &negatives[i * dim]);

  // Scores of all negatives, and in the last column of the right end.
  scores.assign(2 * links * columns, 0);
  AddProduct({queries.values.data(), 2 * links, dim}, examples::Matrix{negatives.data(), k, dim}.Transposed(),
             {scores.data(), 2 * links, k, columns});
  for (size_t i = 0; i < 2 * links; ++i) {
    scores[i * columns + k] = Dot(&queries.values[i * dim], &rows.entities[queries.right[i] * dim], dim);
  }
  last.assign(2 * links, static_cast<uint32_t>(k));
  const double loss = examples::SoftmaxLoss({scores.data(), 2 * links, columns}, last);

  // The scores are derivatives now.
  const examples::Matrix by_score{scores.data(), 2 * links, k, columns};
  by_query.assign(queries.values.size(), 0);
  AddProduct(by_score, {negatives.data(), k, dim}, {by_query.data(), 2 * links, dim});
  by_negative.assign(negatives.size(), 0);
  AddProduct(by_score.Transposed(), {queries.values.data(), 2 * links, dim}, {by_negative.data(), k, dim});
  for (size_t i = 0; i < k; ++i) {
    AddScaled(&gradients.entities[batch.negatives[i] * dim], 1, &by_negative[i * dim], dim);
  }
  for (size_t i = 0; i < 2 * links; ++i) {
    const float by_right = scores[i * columns + k];
    AddScaled(&by_query[i * dim], by_right, &rows.entities[queries.right[i] * dim], dim);
    AddScaled(&gradients.entities[queries.right[i] * dim], by_right, &queries.values[i * dim], dim);
  }
  AddQueryGradients(batch, dim, rows, by_query, gradients);
  for (size_t i = 0; regularization > 0 && i < links; ++i) {
    const size_t head = batch.heads[i] * dim, tail = batch.tails[i] * dim,
                 relation = static_cast<size_t>(batch.relations[i]) * dim;
    AddCubeGradient(&rows.entities[head], dim / 2, regularization, &gradients.entities[head]);
    AddCubeGradient(&rows.entities[tail], dim / 2, regularization, &gradients.entities[tail]);
    AddCubeGradient(&rows.relations[relation], dim / 2, regularization, &gradients.relations[relation]);
  }
  return loss;
}

}  // namespace attune::package_graph
