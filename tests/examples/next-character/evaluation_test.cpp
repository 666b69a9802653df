#include "examples/next-character/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace attune::next_character::evaluation_test {
namespace {

constexpr NetworkOptions kOptions{.context = 2, .embedding = 1, .hidden1 = 1, .hidden2 = 1};

// Says the same whatever came before: the last layer's biases.
Parameters Constant(const std::vector<std::pair<char, float>>& logits) {
  Parameters parameters;
  const auto shapes = Shapes(kOptions);
  for (size_t layer = 0; layer < kLayers; ++layer) parameters[layer].assign(shapes[layer].size(), 0);
  for (const auto& [character, logit] : logits) parameters[3][kSymbols + SymbolOf(character)] = logit;
  return parameters;
}

std::vector<Symbol> Repeat(std::string_view part, size_t size) {
  std::vector<Symbol> text;
  for (size_t i = 0; i < size; ++i) text.push_back(SymbolOf(part[i % part.size()]));
  return text;
}

TEST(HeldOutBits, OfANetworkWithoutOpinionAreThoseOfTheAlphabet) {
  const std::vector<Symbol> text = Repeat("abc", 200'000);
  Network network(kOptions);
  EXPECT_NEAR(HeldOutBits(network, Constant({}), text, Positions(text, 2), 500), std::log2(kSymbols), 1e-4);
}

TEST(BigramBits, SeeOneCharacterBack) {
  const std::vector<Symbol> certain = Repeat("abc", 200'000);
  EXPECT_NEAR(BigramBits(certain, Positions(certain, 2), 500), 0, 0.01);
  const std::vector<Symbol> half = Repeat("abac", 200'000);  // after a, b or c; after them, a
  EXPECT_NEAR(BigramBits(half, Positions(half, 2), 500), 0.5, 0.05);
}

TEST(MakeUp, DrawsWhatTheNetworkFindsLikely) {
  Network network(kOptions);
  const Parameters parameters = Constant({{'x', 9}, {'y', 8}});
  const std::string even = MakeUp(network, kOptions, parameters, {.prompt = "=", .characters = 300, .temperature = 1});
  EXPECT_EQ(even.front(), '=');
  EXPECT_EQ(even.size(), 301U);
  const auto ys = std::count(even.begin(), even.end(), 'y');
  EXPECT_NEAR(static_cast<double>(ys) / 300, 1 / (1 + std::exp(1.0)), 0.1);
  const std::string cold = MakeUp(network, kOptions, parameters, {.prompt = "=", .characters = 50, .temperature = 0.1});
  EXPECT_EQ(cold, "=" + std::string(50, 'x'));
}

}  // namespace
}  // namespace attune::next_character::evaluation_test
