#include "examples/word2vec/batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attune::word2vec {

uint32_t BatchBuilder::RowNumbers::RowOf(WordId word, std::vector<ps::Key>& keys) {
  uint32_t& row = row_of_word_[word];
  if (row == kNone) {
    row = static_cast<uint32_t>(keys.size());
    keys.push_back(word);
  }
  return row;
}

void BatchBuilder::RowNumbers::Forget(const std::vector<ps::Key>& keys) {
  for (const ps::Key key : keys) row_of_word_[key] = kNone;
}

// Thinning and the distribution of negatives are those of Mikolov et al. 2013: a word of relative frequency f is kept
// with probability sqrt(t / f) + t / f, and drawn as a negative in proportion to f^0.75.
BatchBuilder::BatchBuilder(const Vocabulary& vocabulary, const BatchOptions& options)
    : options_(options), inputs_(vocabulary.size()), outputs_(vocabulary.size()) {
  const auto total = std::accumulate(vocabulary.counts.begin(), vocabulary.counts.end(), 0.0);
  double sum = 0;
  for (const uint64_t count : vocabulary.counts) {
    const double ratio = options.subsample * total / static_cast<double>(count);
    keep_.push_back(static_cast<float>(std::min(1.0, std::sqrt(ratio) + ratio)));
    negatives_up_to_.push_back(sum += std::pow(static_cast<double>(count), 0.75));
  }
}

WordId BatchBuilder::DrawNegative(Random& random) const {
  const double at = random.Uniform() * negatives_up_to_.back();
  const auto found = std::upper_bound(negatives_up_to_.begin(), negatives_up_to_.end() - 1, at);
  return static_cast<WordId>(found - negatives_up_to_.begin());
}

void BatchBuilder::Build(std::span<const WordId> chunk, uint64_t seed, Batch& batch) {
  Random random(seed);
  kept_.clear();
  for (const WordId word : chunk) {
    if (keep_[word] >= 1 || random.UniformFloat() < keep_[word]) kept_.push_back(word);
  }
  batch.words_read = chunk.size();
  for (auto* keys : {&batch.input_keys, &batch.output_keys}) keys->clear();
  for (auto* rows : {&batch.inputs, &batch.pairs, &batch.pairs_begin, &batch.negatives}) rows->clear();
  for (size_t at = 0; at < kept_.size(); ++at) {
    for (uint32_t i = 0; at % options_.group_words == 0 && i < options_.group_negatives; ++i) {
      batch.negatives.push_back(outputs_.RowOf(DrawNegative(random), batch.output_keys));
    }
    batch.inputs.push_back(inputs_.RowOf(kept_[at], batch.input_keys));
    batch.pairs_begin.push_back(static_cast<uint32_t>(batch.pairs.size()));
    const size_t reach = 1 + random.Below(options_.window);  // nearer neighbors are met more often
    const size_t end = std::min(kept_.size(), at + reach + 1);
    for (size_t neighbor = at - std::min(at, reach); neighbor < end; ++neighbor) {
      if (neighbor != at) batch.pairs.push_back(outputs_.RowOf(kept_[neighbor], batch.output_keys));
    }
  }
  batch.pairs_begin.push_back(static_cast<uint32_t>(batch.pairs.size()));
  inputs_.Forget(batch.input_keys);
  outputs_.Forget(batch.output_keys);
}

}  // namespace attune::word2vec
