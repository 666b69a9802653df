#include "examples/word2vec/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune::word2vec::gradient_test {
namespace {

struct Problem {
  Vocabulary vocabulary;
  Batch batch;
  BatchRows rows;
};

constexpr BatchOptions kOptions{.window = 2, .negatives = 3, .group_words = 7, .group_negatives = 5, .subsample = 1};

Problem MakeProblem(size_t dim, float scale) {
  std::vector<std::pair<std::string, uint64_t>> counted;
  for (int i = 0; i < 12; ++i) counted.emplace_back("w" + std::to_string(i), 10 + i);
  Problem problem{.vocabulary = Vocabulary(counted, 1), .batch = {}, .rows = {}};
  std::vector<WordId> chunk;
  for (WordId i = 0; i < 30; ++i) chunk.push_back(i * 7 % 12);
  BatchBuilder(problem.vocabulary, kOptions).Build(chunk, 3, problem.batch);
  problem.rows.Resize(problem.batch, dim);
  Random random(5);
  for (auto* rows : {&problem.rows.inputs, &problem.rows.outputs}) {
    for (float& value : *rows) value = scale * (2 * random.UniformFloat() - 1);
  }
  return problem;
}

// The formula of gradient.h, word by word, in double.
double ObviousLoss(const Batch& batch, size_t dim, const BatchRows& rows) {
  const auto score = [&](uint32_t input, uint32_t output) {
    double sum = 0;
    for (size_t d = 0; d < dim; ++d) sum += double{rows.inputs[input * dim + d]} * rows.outputs[output * dim + d];
    return sum;
  };
  const auto log_sigmoid = [](double x) { return -std::log1p(std::exp(-x)); };
  double loss = 0;
  for (size_t w = 0; w < batch.inputs.size(); ++w) {
    const size_t group = w / kOptions.group_words;
    for (size_t p = batch.pairs_begin[w]; p < batch.pairs_begin[w + 1]; ++p) {
      loss -= log_sigmoid(score(batch.inputs[w], batch.pairs[p]));
      double negatives = 0;
      for (size_t n = group * kOptions.group_negatives; n < (group + 1) * kOptions.group_negatives; ++n) {
        negatives += log_sigmoid(-score(batch.inputs[w], batch.negatives[n]));
      }
      loss -= kOptions.negatives / kOptions.group_negatives * negatives;
    }
  }
  return loss;
}

TEST(Gradient, LossIsThatOfTheFormula) {
  for (const size_t dim : {1, 3, 16, 64, 100}) {
    Problem problem = MakeProblem(dim, 0.5F);
    BatchRows gradients;
    const double want = ObviousLoss(problem.batch, dim, problem.rows);
    EXPECT_NEAR(LossAndGradients(problem.batch, kOptions, dim, problem.rows, gradients), want, 1e-5 * want);
  }
}

TEST(Gradient, AgreesWithFiniteDifferences) {
  for (const size_t dim : {1, 5, 64}) {
    Problem problem = MakeProblem(dim, 0.5F);
    BatchRows gradients;
    LossAndGradients(problem.batch, kOptions, dim, problem.rows, gradients);
    const auto check = [&](std::vector<float>& rows, const std::vector<float>& gradient) {
      for (size_t i = 0; i < rows.size(); ++i) {
        const float before = rows[i];
        constexpr float kStep = 1.0F / 256;
        rows[i] = before + kStep;
        const double above = ObviousLoss(problem.batch, dim, problem.rows);
        rows[i] = before - kStep;
        const double below = ObviousLoss(problem.batch, dim, problem.rows);
        rows[i] = before;
        ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-3) << "dim " << dim << " value " << i;
      }
    };
    check(problem.rows.inputs, gradients.inputs);
    check(problem.rows.outputs, gradients.outputs);
  }
}

TEST(Gradient, StaysFiniteForHugeScores) {
  Problem problem = MakeProblem(64, 100.0F);
  BatchRows gradients;
  EXPECT_TRUE(std::isfinite(LossAndGradients(problem.batch, kOptions, 64, problem.rows, gradients)));
  for (const auto* rows : {&gradients.inputs, &gradients.outputs}) {
    for (const float value : *rows) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(Gradient, AnEmptyBatchHasNoLoss) {
  Batch batch;
  Problem problem = MakeProblem(4, 1);
  BatchBuilder(problem.vocabulary, kOptions).Build({}, 1, batch);
  BatchRows rows, gradients;
  EXPECT_EQ(LossAndGradients(batch, kOptions, 4, rows, gradients), 0);
}

}  // namespace
}  // namespace attune::word2vec::gradient_test
