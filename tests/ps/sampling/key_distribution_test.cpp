// How often keys are drawn, against the probabilities themselves.
#include "ps/sampling/key_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/base/seeds.h"

namespace attune::ps {
namespace {

std::vector<double> ZipfProbabilities(uint64_t keys, double exponent) {
  std::vector<double> all(keys);
  for (uint64_t key = 0; key < keys; ++key) all[key] = std::pow(static_cast<double>(key + 1), -exponent);
  return all;
}

// Of the chi-squared statistic: keys that are expected fewer than ten times are counted together. It is normal, nearly,
// with the mean `groups` and twice that as its variance; seven standard deviations and a bit for its skew are beyond
// what a search of any length sees by chance.
void ExpectDrawnBy(const KeyDistributionOptions& options, std::vector<double> weights, uint64_t seed) {
  const auto distribution = KeyDistribution::Create(options);
  ASSERT_TRUE(distribution.ok()) << distribution.status();
  constexpr uint64_t kDraws = 50'000;
  std::vector<uint64_t> drawn(weights.size());
  Random random(seed);
  for (uint64_t i = 0; i < kDraws; ++i) {
    const Key key = (*distribution)->Draw(random);
    ASSERT_LT(key, weights.size());
    ASSERT_GT(weights[key], 0) << "key " << key << " has no weight";
    ++drawn[key];
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double statistic = 0, groups = 0, expected_rare = 0, rare = 0;
  const auto add = [&](double expected, double seen) {
    statistic += (seen - expected) * (seen - expected) / expected;
    ++groups;
  };
  for (size_t key = 0; key < weights.size(); ++key) {
    const double expected = weights[key] / sum * kDraws;
    if (expected >= 10) {
      add(expected, static_cast<double>(drawn[key]));
    } else {
      expected_rare += expected;
      rare += static_cast<double>(drawn[key]);
    }
  }
  if (expected_rare >= 10) add(expected_rare, rare);
  EXPECT_LT(statistic, groups + 7 * std::sqrt(2 * groups) + 30);
}

TEST(KeyDistributionTest, KeysAreDrawnAsOftenAsTheirDistributionSays) {
  ForSeeds(20, [](uint64_t seed) {
    Random random(seed);
    const uint64_t keys = 1 + random.Below(400);
    ExpectDrawnBy(UniformKeys{keys}, std::vector<double>(keys, 1), seed);
    const double exponent = random.Chance(0.2) ? 1 : random.Uniform() * 3;
    SCOPED_TRACE(std::to_string(keys) + " keys, exponent " + std::to_string(exponent));
    ExpectDrawnBy(ZipfKeys{keys, exponent}, ZipfProbabilities(keys, exponent), seed);
    std::vector<double> weights(keys);
    for (double& weight : weights) weight = random.Chance(0.3) ? 0 : std::exp(20 * random.Uniform());
    weights[random.Below(keys)] = 1;
    ExpectDrawnBy(WeightedKeys{weights}, weights, seed);
  });
}

TEST(KeyDistributionTest, ExtremeFiguresAreDrawnToo) {
  ExpectDrawnBy(UniformKeys{1}, {1}, 1);
  ExpectDrawnBy(ZipfKeys{1, 1.1}, {1}, 1);
  ExpectDrawnBy(ZipfKeys{50, 0}, std::vector<double>(50, 1), 1);
  ExpectDrawnBy(ZipfKeys{1000, 40}, ZipfProbabilities(1000, 40), 1);
  ExpectDrawnBy(ZipfKeys{1000, 1 + 1e-12}, ZipfProbabilities(1000, 1), 1);
  ExpectDrawnBy(WeightedKeys{{0, 0, 1e-300, 0}}, {0, 0, 1, 0}, 1);
  constexpr double kLarge = std::numeric_limits<double>::max();
  ExpectDrawnBy(WeightedKeys{{kLarge, 0, kLarge}}, {1, 0, 1}, 1);
}

// Most keys of a large Zipf are never drawn: the frequent ones and the mass of the rest are looked at.
TEST(KeyDistributionTest, ABillionKeysNeedNoMoreThanAFew) {
  constexpr uint64_t kKeys = 1'000'000'000;
  const auto distribution = KeyDistribution::Create(ZipfKeys{kKeys, 1});
  ASSERT_TRUE(distribution.ok());
  Random random(7);
  constexpr int kDraws = 200'000;
  int first = 0, lower_half = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Key key = (*distribution)->Draw(random);
    ASSERT_LT(key, kKeys);
    first += key == 0 ? 1 : 0;
    lower_half += key < 31'623 ? 1 : 0;  // the square root of all
  }
  const double harmonic = std::log(1e9) + 0.5772156649;
  EXPECT_NEAR(first / double{kDraws}, 1 / harmonic, 0.003);
  EXPECT_NEAR(lower_half / double{kDraws}, (std::log(31'623.0) + 0.5772156649) / harmonic, 0.006);
}

TEST(KeyDistributionTest, WhatIsNoDistributionIsRefusedWithItsFigure) {
  const auto refusal = [](const KeyDistributionOptions& options) {
    const auto made = KeyDistribution::Create(options);
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
    return std::string(made.status().message());
  };
  EXPECT_EQ(refusal(UniformKeys{}), "sampling keys: there are none to draw from; say how many there are");
  EXPECT_EQ(refusal(ZipfKeys{}), refusal(UniformKeys{}));
  EXPECT_EQ(refusal(ZipfKeys{10, -1}), "sampling keys: Zipf's exponent is -1.000000; expected 0 or more");
  EXPECT_EQ(refusal(ZipfKeys{10, NAN}), "sampling keys: Zipf's exponent is nan; expected 0 or more");
  EXPECT_EQ(refusal(ZipfKeys{uint64_t{1} << 60, 1}), "sampling keys: Zipf's law is drawn for 2^53 keys at most");
  EXPECT_EQ(refusal(WeightedKeys{{1, -2}}), "sampling keys: the weight of key 1 is -2.000000; expected 0 or more");
  EXPECT_EQ(refusal(WeightedKeys{{INFINITY}}), "sampling keys: the weight of key 0 is inf; expected 0 or more");
  EXPECT_EQ(refusal(WeightedKeys{{0, 0}}), "sampling keys: no key has a weight above 0");
  EXPECT_EQ(refusal(WeightedKeys{}), refusal(WeightedKeys{{0}}));
}

}  // namespace
}  // namespace attune::ps
