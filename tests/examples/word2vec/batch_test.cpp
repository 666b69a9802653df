#include "examples/word2vec/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace attune::word2vec {
namespace {

Vocabulary Letters() {
  std::vector<std::pair<std::string, uint64_t>> counted;
  for (char c = 'a'; c <= 'z'; ++c) counted.emplace_back(std::string(1, c), 100);
  return Vocabulary(counted, 1, 26);
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
  ASSERT_EQ(batch.words.size(), chunk.size() + 1) << "nothing is thinned out here";
  EXPECT_EQ(batch.words_read, chunk.size());
  std::set<size_t> reaches;
  for (size_t at = 0; at < chunk.size(); ++at) {
    EXPECT_EQ(batch.input_keys[batch.words[at].input], chunk[at]);
    std::vector<WordId> neighbors;
    for (size_t p = batch.words[at].pairs_begin; p < batch.words[at + 1].pairs_begin; ++p) {
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

TEST(Batch, GroupsShareNegatives) {
  const Vocabulary vocabulary = Letters();
  Batch batch;
  BatchBuilder(vocabulary, kOptions).Build(Chunk(), 1, batch);
  ASSERT_EQ(batch.groups.size(), 500 / 64 + 1 + 1U) << "the last is an end mark";
  for (size_t g = 0; g + 1 < batch.groups.size(); ++g) {
    EXPECT_EQ(batch.groups[g].words_begin, g * 64);
    EXPECT_EQ(batch.groups[g + 1].negatives_begin - batch.groups[g].negatives_begin, 10U);
  }
  EXPECT_EQ(batch.groups.back().words_begin, 500U);
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
  EXPECT_EQ(batch.groups.size(), 1U);
}

}  // namespace
}  // namespace attune::word2vec
