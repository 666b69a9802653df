#include "examples/word2vec/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace attune::word2vec::batch_test {
namespace {

Vocabulary Letters() {
  std::vector<std::pair<std::string, uint64_t>> counted;
  for (char c = 'a'; c <= 'z'; ++c) counted.emplace_back(std::string(1, c), 100);
  return Vocabulary(counted, 1);
}

// 500 words, all of 26.
std::vector<WordId> Chunk() {
  std::vector<WordId> chunk;
  for (WordId i = 0; i < 500; ++i) chunk.push_back(i * i % 26);
  return chunk;
}

constexpr BatchOptions kOptions{.window = 3, .group_words = 64, .group_negatives = 10, .subsample = 1};  // keeps all

TEST(Batch, KeysAreUniqueAndEveryRowIsUsed) {
  const Vocabulary vocabulary = Letters();
  Batch batch;
  BatchBuilder(vocabulary, kOptions).Build(Chunk(), 1, batch);
  const std::set<ps::Key> inputs(batch.input_keys.begin(), batch.input_keys.end());
  const std::set<ps::Key> outputs(batch.output_keys.begin(), batch.output_keys.end());
  EXPECT_EQ(inputs.size(), batch.input_keys.size());
  EXPECT_EQ(outputs.size(), batch.output_keys.size());
  std::set<uint32_t> used(batch.pairs.begin(), batch.pairs.end());
  used.insert(batch.negatives.begin(), batch.negatives.end());
  EXPECT_EQ(used.size(), outputs.size());
  EXPECT_EQ(*used.rbegin(), outputs.size() - 1);
}

TEST(Batch, PairsAreNeighborsWithinTheWindow) {
  const Vocabulary vocabulary = Letters();
  const std::vector<WordId> chunk = Chunk();
  Batch batch;
  BatchBuilder(vocabulary, kOptions).Build(chunk, 1, batch);
  ASSERT_EQ(batch.inputs.size(), chunk.size()) << "nothing is thinned out here";
  EXPECT_EQ(batch.words_read, chunk.size());
  std::set<size_t> reaches;
  for (size_t at = 0; at < chunk.size(); ++at) {
    EXPECT_EQ(batch.input_keys[batch.inputs[at]], chunk[at]);
    std::vector<WordId> neighbors;
    for (size_t p = batch.pairs_begin[at]; p < batch.pairs_begin[at + 1]; ++p) {
      neighbors.push_back(static_cast<WordId>(batch.output_keys[batch.pairs[p]]));
    }
    size_t reach = 0;
    for (reach = 1; reach <= kOptions.window; ++reach) {
      std::vector<WordId> want;
      for (size_t n = at - std::min(at, reach); n < std::min(chunk.size(), at + reach + 1); ++n) {
        if (n != at) want.push_back(chunk[n]);
      }
      if (want == neighbors) break;
    }
    ASSERT_LE(reach, kOptions.window) << "word " << at;
    if (at >= 3 && at + 3 < chunk.size()) reaches.insert(reach);
  }
  EXPECT_EQ(reaches, (std::set<size_t>{1, 2, 3})) << "windows vary";
}

TEST(Batch, EachGroupOfWordsHasItsNegatives) {
  const Vocabulary vocabulary = Letters();
  Batch batch;
  BatchBuilder(vocabulary, kOptions).Build(Chunk(), 1, batch);
  EXPECT_EQ(batch.negatives.size(), (500 / 64 + 1) * 10U);
}

TEST(Batch, NegativesAreDrawnByCountToThePowerThreeQuarters) {
  const Vocabulary vocabulary({{"a", 10'000}, {"b", 625}, {"c", 16}, {"d", 1}}, 1);
  const double want_weight[] = {1000, 125, 8, 1};
  BatchBuilder builder(vocabulary, {.group_words = 1, .group_negatives = 40, .subsample = 1e9});
  const std::vector<WordId> chunk(50'000, 0);
  Batch batch;
  builder.Build(chunk, 7, batch);
  ASSERT_EQ(batch.negatives.size(), 2'000'000U);
  double drawn[4] = {};
  for (const uint32_t row : batch.negatives) ++drawn[batch.output_keys[row]];
  for (int i = 0; i < 4; ++i) {
    const double want = 2'000'000 * want_weight[i] / 1134;
    EXPECT_NEAR(drawn[i], want, 5 * std::sqrt(want)) << "word " << i;
  }
}

TEST(Batch, ThinsOutFrequentWordsOnly) {
  const Vocabulary vocabulary({{"half", 5000}, {"other", 4990}, {"seldom", 10}}, 1);
  BatchBuilder builder(vocabulary, {.subsample = 1e-3});
  Batch batch;
  builder.Build(std::vector<WordId>(100'000, 0), 7, batch);
  const double want = 100'000 * (std::sqrt(1e-3 / 0.5) + 1e-3 / 0.5);
  EXPECT_NEAR(static_cast<double>(batch.inputs.size()), want, 5 * std::sqrt(want));
  builder.Build(std::vector<WordId>(1000, 2), 7, batch);
  EXPECT_EQ(batch.inputs.size(), 1000U);
}

TEST(Batch, DependsOnChunkAndSeedOnly) {
  const Vocabulary vocabulary = Letters();
  BatchBuilder builder(vocabulary, kOptions);
  Batch first, again, other;
  builder.Build(Chunk(), 1, first);
  builder.Build(Chunk(), 2, other);
  builder.Build(Chunk(), 1, again);
  EXPECT_EQ(first.pairs, again.pairs);
  EXPECT_EQ(first.output_keys, again.output_keys);
  EXPECT_EQ(first.negatives, again.negatives);
  EXPECT_NE(first.negatives, other.negatives);
}

TEST(Batch, AnEmptyChunkIsAnEmptyBatch) {
  const Vocabulary vocabulary = Letters();
  Batch batch;
  BatchBuilder builder(vocabulary, kOptions);
  builder.Build(Chunk(), 1, batch);
  builder.Build({}, 1, batch);
  EXPECT_TRUE(batch.input_keys.empty());
  EXPECT_TRUE(batch.output_keys.empty());
  EXPECT_TRUE(batch.inputs.empty());
  EXPECT_EQ(batch.pairs_begin, std::vector<uint32_t>{0});
}

}  // namespace
}  // namespace attune::word2vec::batch_test
