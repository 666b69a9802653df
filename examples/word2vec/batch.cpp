#include "examples/word2vec/batch.h"

#include <algorithm>

namespace attune::word2vec {

void BatchBuilder::RowNumbers::Begin(std::vector<ps::Key>& keys) {
  keys_ = &keys;
  keys_->clear();
  ++batch_;
}

uint32_t BatchBuilder::RowNumbers::RowOf(WordId word) {
  if (batch_of_word_[word] != batch_) {
    batch_of_word_[word] = batch_;
    row_of_word_[word] = static_cast<uint32_t>(keys_->size());
    keys_->push_back(word);
  }
  return row_of_word_[word];
}

BatchBuilder::BatchBuilder(const Vocabulary& vocabulary, const BatchOptions& options)
    : options_(options),
      keep_(vocabulary.KeepProbabilities(options.subsample)),
      sampler_(vocabulary),
      inputs_(vocabulary.size()),
      outputs_(vocabulary.size()) {}

void BatchBuilder::AddWord(size_t position, Random& random, Batch& batch) {
  batch.words.push_back({inputs_.RowOf(kept_[position]), static_cast<uint32_t>(batch.pairs.size())});
  const size_t reach = 1 + random.Below(options_.window);  // nearer neighbors are met more often
  const size_t begin = position - std::min(position, reach);
  const size_t end = std::min(kept_.size(), position + reach + 1);
  for (size_t neighbor = begin; neighbor < end; ++neighbor) {
    if (neighbor != position) batch.pairs.push_back(outputs_.RowOf(kept_[neighbor]));
  }
}

void BatchBuilder::Build(std::span<const WordId> chunk, uint64_t seed, Batch& batch) {
  Random random(seed);
  kept_.clear();
  for (const WordId word : chunk) {
    if (keep_[word] >= 1 || random.UniformFloat() < keep_[word]) kept_.push_back(word);
  }
  inputs_.Begin(batch.input_keys);
  outputs_.Begin(batch.output_keys);
  batch.words.clear();
  batch.pairs.clear();
  batch.negatives.clear();
  batch.groups.clear();
  batch.words_read = chunk.size();
  for (size_t position = 0; position < kept_.size(); ++position) {
    if (position % options_.group_words == 0) {
      batch.groups.push_back({static_cast<uint32_t>(position), static_cast<uint32_t>(batch.negatives.size())});
      for (uint32_t i = 0; i < options_.group_negatives; ++i) {
        batch.negatives.push_back(outputs_.RowOf(sampler_.Draw(random)));
      }
    }
    AddWord(position, random, batch);
  }
  batch.groups.push_back({static_cast<uint32_t>(kept_.size()), static_cast<uint32_t>(batch.negatives.size())});
  batch.words.push_back({0, static_cast<uint32_t>(batch.pairs.size())});
}

}  // namespace attune::word2vec
