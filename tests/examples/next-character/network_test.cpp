#include "examples/next-character/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "examples/next-character/parallel_network.h"

namespace attune::next_character::network_test {
namespace {

constexpr NetworkOptions kOptions{.context = 3, .embedding = 4, .hidden1 = 7, .hidden2 = 5};

struct Problem {
  Parameters parameters;
  std::vector<Symbol> text;
  std::vector<uint64_t> positions;
};

Problem MakeProblem(float scale) {
  Problem problem;
  Random random(5);
  const auto shapes = Shapes(kOptions);
  for (size_t layer = 0; layer < kLayers; ++layer) {
    problem.parameters[layer].resize(shapes[layer].size());
    for (float& value : problem.parameters[layer]) value = scale * (2 * random.UniformFloat() - 1);
  }
  for (int i = 0; i < 40; ++i) problem.text.push_back(static_cast<Symbol>(random.Below(6)));
  problem.positions.resize(30);
  std::iota(problem.positions.begin(), problem.positions.end(), uint64_t{kOptions.context});
  return problem;
}

// One matrix after the other, one position at a time, in double.
double ObviousLoss(const Problem& problem) {
  const auto shapes = Shapes(kOptions);
  double loss = 0;
  for (const uint64_t position : problem.positions) {
    std::vector<double> values;
    for (size_t c = 0; c < kOptions.context; ++c) {
      const Symbol symbol = problem.text[position - kOptions.context + c];
      for (size_t d = 0; d < kOptions.embedding; ++d) {
        values.push_back(problem.parameters[0][symbol * kOptions.embedding + d]);
      }
    }
    for (size_t layer = 1; layer < kLayers; ++layer) {
      values.push_back(1);
      std::vector<double> next(shapes[layer].columns);
      for (size_t i = 0; i < shapes[layer].rows; ++i) {
        for (size_t j = 0; j < next.size(); ++j) {
          next[j] += values[i] * problem.parameters[layer][i * next.size() + j];
        }
      }
      for (double& value : next) value = layer + 1 < kLayers ? std::max(value, 0.0) : value;
      values = next;
    }
    double sum = 0;
    for (const double value : values) sum += std::exp(value);
    loss += std::log(sum) - values[problem.text[position]];
  }
  return loss / static_cast<double>(problem.positions.size());
}

TEST(Network, LossIsThatOfTheDefinition) {
  const Problem problem = MakeProblem(0.8F);
  Network network(kOptions);
  Parameters gradients;
  const double want = ObviousLoss(problem);
  EXPECT_NEAR(network.Loss(problem.parameters, problem.text, problem.positions), want, 1e-5);
  EXPECT_NEAR(network.LossAndGradients(problem.parameters, problem.text, problem.positions, gradients), want, 1e-5);
}

// A unit whose input is near 0 for some position has a bend there, which differences do not see as the derivative does:
// the step is small, and few values may be off by more than rounding.
TEST(Network, GradientsAgreeWithFiniteDifferences) {
  Problem problem = MakeProblem(0.8F);
  Network network(kOptions);
  Parameters gradients;
  network.LossAndGradients(problem.parameters, problem.text, problem.positions, gradients);
  constexpr double kStep = 1.0 / 4096;
  size_t values = 0, at_a_bend = 0, zero = 0;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    ASSERT_EQ(gradients[layer].size(), problem.parameters[layer].size());
    for (size_t i = 0; i < gradients[layer].size(); ++i, ++values) {
      float& value = problem.parameters[layer][i];
      const float before = value;
      value = before + static_cast<float>(kStep);
      const double above = ObviousLoss(problem);
      value = before - static_cast<float>(kStep);
      const double below = ObviousLoss(problem);
      value = before;
      const double difference = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradients[layer][i], difference, 0.02) << kLayerNames[layer] << " value " << i;
      if (std::abs(gradients[layer][i] - difference) > 2e-4) ++at_a_bend;
      if (gradients[layer][i] == 0) ++zero;
    }
  }
  EXPECT_LT(at_a_bend, values / 50);
  EXPECT_LT(zero, values * 3 / 4) << "the check would see nothing";
}

TEST(ParallelNetwork, AnyNumberOfThreadsGivesWhatOneGives) {
  const Problem problem = MakeProblem(0.8F);
  Network one(kOptions);
  Parameters want, got;
  const double loss = one.LossAndGradients(problem.parameters, problem.text, problem.positions, want);
  ParallelNetwork network(kOptions);
  for (const uint32_t threads : {1U, 4U, 2U, 7U, 64U, 0U}) {  // up and down again; more than positions; none
    EXPECT_NEAR(network.LossAndGradients(problem.parameters, problem.text, problem.positions, threads, got), loss, 1e-5)
        << threads;
    for (size_t layer = 0; layer < kLayers; ++layer) {
      ASSERT_EQ(got[layer].size(), want[layer].size());
      for (size_t i = 0; i < want[layer].size(); ++i) {
        ASSERT_NEAR(got[layer][i], want[layer][i], 1e-5) << threads << " threads, " << kLayerNames[layer] << ' ' << i;
      }
    }
  }
}

TEST(Network, PredictionsAreProbabilitiesAndGoWithTheLoss) {
  const Problem problem = MakeProblem(0.8F);
  Network network(kOptions);
  const uint64_t position = 17;
  const double loss = network.Loss(problem.parameters, problem.text, {&position, 1});
  const auto likely = network.Predict(problem.parameters,
                                      std::span(problem.text).subspan(position - kOptions.context, kOptions.context));
  EXPECT_NEAR(std::accumulate(likely.begin(), likely.end(), 0.0), 1, 1e-5);
  EXPECT_NEAR(-std::log(likely[problem.text[position]]), loss, 1e-4);
}

}  // namespace
}  // namespace attune::next_character::network_test
