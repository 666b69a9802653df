// The words that are trained, most frequent first; a word's place is its id and its key in the tables. Ties are broken
// by spelling, so every worker that reads the same text has the same vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace attune::word2vec {

using WordId = uint32_t;

class Vocabulary {
 public:
  Vocabulary() = default;
  // Words seen at least `count_min` times, at most `size_max` of them.
  Vocabulary(std::vector<std::pair<std::string, uint64_t>> counted, uint64_t count_min, size_t size_max);

  size_t size() const { return words_.size(); }
  const std::string& word(WordId id) const { return words_[id]; }
  uint64_t count(WordId id) const { return counts_[id]; }
  uint64_t total_count() const { return total_count_; }
  std::optional<WordId> Find(std::string_view word) const;

  // Probability of keeping an occurrence when frequent words are thinned out (Mikolov et al. 2013, as in their code):
  // sqrt(threshold / f) + threshold / f for a word of relative frequency f; at most 1.
  std::vector<float> KeepProbabilities(double threshold) const;

 private:
  std::vector<std::string> words_;
  std::vector<uint64_t> counts_;
  uint64_t total_count_ = 0;
};

// Draws words with probability proportional to count^0.75 (Mikolov et al. 2013) in constant time: Walker's alias
// method, built as by Vose 1991.
class NegativeSampler {
 public:
  explicit NegativeSampler(const Vocabulary& vocabulary);
  WordId Draw(Random& random) const {
    const uint64_t column = random.Below(columns_.size());
    return random.UniformFloat() < columns_[column].probability ? static_cast<WordId>(column) : columns_[column].alias;
  }

 private:
  struct Column {
    float probability;
    WordId alias;
  };
  std::vector<Column> columns_;
};

}  // namespace attune::word2vec
