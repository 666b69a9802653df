#include "examples/package-graph/complex_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "tests/examples/package-graph/small_lists.h"

namespace attune::package_graph::complex_model_test {
namespace {

struct Problem {
  Graph graph;
  Batch batch;
  Rows rows;
};

Problem MakeProblem(size_t dim, float scale) {
  Problem problem{
      .graph = *BuildGraph({SmallList(16)}, {.links_min = 1, .held_out_percent = 0}), .batch = {}, .rows = {}};
  BatchBuilder(problem.graph, {.links = 20, .negatives = 7}, 3).Build(0, 1, problem.batch);
  problem.rows.Resize(problem.batch, dim);
  Random random(5);
  for (auto* rows : {&problem.rows.entities, &problem.rows.relations}) {
    for (float& value : *rows) value = scale * (2 * random.UniformFloat() - 1);
  }
  return problem;
}

using Vector = std::vector<std::complex<double>>;
Vector Unpack(const std::vector<float>& rows, size_t row, size_t dim) {
  Vector vector;
  for (size_t i = 0; i < dim / 2; ++i) vector.emplace_back(rows[row * dim + i], rows[row * dim + dim / 2 + i]);
  return vector;
}

// The formulas of complex_model.h, link by link, in double.
double ObviousLoss(const Batch& batch, size_t dim, const Rows& rows, double regularization) {
  const auto score = [&](size_t head, size_t relation, size_t tail) {
    const Vector h = Unpack(rows.entities, head, dim), r = Unpack(rows.relations, relation, dim),
                 t = Unpack(rows.entities, tail, dim);
    std::complex<double> sum = 0;
    for (size_t i = 0; i < h.size(); ++i) sum += h[i] * r[i] * std::conj(t[i]);
    return sum.real();
  };
  double loss = 0;
  for (size_t i = 0; i < batch.heads.size(); ++i) {
    const auto relation = static_cast<size_t>(batch.relations[i]);
    const double right = score(batch.heads[i], relation, batch.tails[i]);
    double tails = std::exp(right), heads = std::exp(right);
    for (const uint32_t negative : batch.negatives) {
      tails += std::exp(score(batch.heads[i], relation, negative));
      heads += std::exp(score(negative, relation, batch.tails[i]));
    }
    loss += std::log(tails) + std::log(heads) - 2 * right;
    for (const Vector& vector : {Unpack(rows.entities, batch.heads[i], dim), Unpack(rows.entities, batch.tails[i], dim),
                                 Unpack(rows.relations, relation, dim)}) {
      for (const auto& value : vector) loss += regularization / 3 * std::pow(std::abs(value), 3);
    }
  }
  return loss;
}

TEST(ComplexModel, LossIsThatOfTheFormula) {
  for (const size_t dim : {2, 6, 64}) {
    const Problem problem = MakeProblem(dim, 0.7F);
    Rows gradients;
    const double want = ObviousLoss(problem.batch, dim, problem.rows, 0);
    EXPECT_NEAR(LossAndGradients(problem.batch, dim, 0, problem.rows, gradients), want, 1e-5 * want);
  }
}

TEST(ComplexModel, GradientsAgreeWithFiniteDifferences) {
  constexpr float kRegularization = 0.3F;
  for (const size_t dim : {2, 6, 16}) {
    Problem problem = MakeProblem(dim, 0.7F);
    Rows gradients;
    LossAndGradients(problem.batch, dim, kRegularization, problem.rows, gradients);
    const auto check = [&](std::vector<float>& rows, const std::vector<float>& gradient) {
      ASSERT_EQ(rows.size(), gradient.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        const float before = rows[i];
        constexpr float kStep = 1.0F / 512;
        rows[i] = before + kStep;
        const double above = ObviousLoss(problem.batch, dim, problem.rows, kRegularization);
        rows[i] = before - kStep;
        const double below = ObviousLoss(problem.batch, dim, problem.rows, kRegularization);
        rows[i] = before;
        ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-3) << "dim " << dim << " value " << i;
      }
    };
    check(problem.rows.entities, gradients.entities);
    check(problem.rows.relations, gradients.relations);
  }
}

TEST(ComplexModel, StaysFiniteForHugeScores) {
  const Problem problem = MakeProblem(16, 30.0F);
  Rows gradients;
  EXPECT_TRUE(std::isfinite(LossAndGradients(problem.batch, 16, 0.01F, problem.rows, gradients)));
  for (const float value : gradients.entities) ASSERT_TRUE(std::isfinite(value));
}

TEST(Batch, EveryLinkIsInOneItemOfEachEpochInAnotherOrder) {
  const auto graph = BuildGraph({SmallList()}, {.links_min = 2});
  ASSERT_TRUE(graph.ok());
  BatchBuilder builder(*graph, {.links = 50, .negatives = 5}, 1);
  std::vector<std::vector<Link>> epochs(2);
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (uint64_t item = 0; item < builder.count(); ++item) {
      Batch batch;
      builder.Build(epoch, item, batch);
      for (size_t i = 0; i < batch.heads.size(); ++i) {
        epochs[epoch].push_back({static_cast<EntityId>(batch.entities[batch.heads[i]]),
                                 static_cast<EntityId>(batch.entities[batch.tails[i]]), batch.relations[i]});
      }
    }
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_TRUE(std::is_permutation(epochs[0].begin(), epochs[0].end(), graph->training.begin(), graph->training.end()));
  EXPECT_TRUE(std::is_permutation(epochs[1].begin(), epochs[1].end(), graph->training.begin(), graph->training.end()));
}

}  // namespace
}  // namespace attune::package_graph::complex_model_test
