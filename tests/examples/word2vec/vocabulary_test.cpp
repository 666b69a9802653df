#include "examples/word2vec/vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune::word2vec {
namespace {

TEST(Vocabulary, OrdersByCountThenSpelling) {
  const Vocabulary vocabulary({{"rare", 1}, {"b", 5}, {"a", 5}, {"most", 9}}, 2, 100);
  ASSERT_EQ(vocabulary.size(), 3U);
  EXPECT_EQ(vocabulary.word(0), "most");
  EXPECT_EQ(vocabulary.word(1), "a");
  EXPECT_EQ(vocabulary.word(2), "b");
  EXPECT_EQ(vocabulary.total_count(), 19U);
  EXPECT_EQ(vocabulary.Find("b"), 2U);
  EXPECT_EQ(vocabulary.Find("rare"), std::nullopt);
}

TEST(Vocabulary, KeepsTheMostFrequentWhenThereAreTooMany) {
  const Vocabulary vocabulary({{"a", 3}, {"b", 2}, {"c", 1}}, 1, 2);
  ASSERT_EQ(vocabulary.size(), 2U);
  EXPECT_EQ(vocabulary.word(1), "b");
}

TEST(Vocabulary, ThinsOutFrequentWordsOnly) {
  const Vocabulary vocabulary({{"half", 5000}, {"other", 4990}, {"seldom", 10}}, 1, 10);
  const std::vector<float> keep = vocabulary.KeepProbabilities(1e-3);
  EXPECT_NEAR(keep[0], std::sqrt(1e-3 / 0.5) + 1e-3 / 0.5, 1e-6);
  EXPECT_EQ(keep[2], 1.0F);
}

TEST(NegativeSampler, DrawsByCountToThePowerThreeQuarters) {
  const Vocabulary vocabulary({{"a", 10'000}, {"b", 625}, {"c", 16}, {"d", 1}}, 1, 10);
  const double want_weight[] = {1000, 125, 8, 1};
  const NegativeSampler sampler(vocabulary);
  Random random(7);
  constexpr int kDraws = 2'000'000;
  double drawn[4] = {};
  for (int i = 0; i < kDraws; ++i) ++drawn[sampler.Draw(random)];
  for (int i = 0; i < 4; ++i) {
    const double want = kDraws * want_weight[i] / 1134;
    EXPECT_NEAR(drawn[i], want, 5 * std::sqrt(want)) << "word " << i;
  }
}

}  // namespace
}  // namespace attune::word2vec
