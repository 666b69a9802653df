// One step's work: the words of a chunk, thinned out, in groups that share negative samples, and the few rows they
// touch.
//
// Skip-gram with negative sampling (Mikolov et al. 2013): for every pair of a word and a neighbor within a random
// window, maximize log s(in_word . out_neighbor) + sum over negatives of log s(-in_word . out_negative). Negatives are
// shared by a group of words (Ji et al. 2016 do so within a window): each word meets all of its group's negatives,
// weighted so that they count as `negatives` per pair. Few rows are touched and the products are matrices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attune/ps/session.h"
#include "base/random.h"
#include "examples/word2vec/corpus.h"

namespace attune::word2vec {

struct BatchOptions {
  uint32_t window = 5;            // neighbors on each side at most
  float negatives = 5;            // per pair of word and neighbor
  uint32_t group_words = 64;      // words that share negatives
  uint32_t group_negatives = 24;  // drawn for each group
  double subsample = 3e-4;        // relative frequency above which words are thinned out
};

// Row numbers count within the batch: row r of the inputs belongs to input_keys[r].
struct Batch {
  std::vector<ps::Key> input_keys, output_keys;  // unique
  std::vector<uint32_t> inputs;                  // a row for each word
  std::vector<uint32_t> pairs;                   // a row for each neighbor of the first word, of the second, ...
  std::vector<uint32_t> pairs_begin;             // of each word; the last is an end mark
  std::vector<uint32_t> negatives;               // group_negatives rows for each group
  uint64_t words_read = 0;                       // of the chunk, before thinning
};

// Builds batches one after another; keeps its tables between them. One thread at a time.
class BatchBuilder {
 public:
  BatchBuilder(const Vocabulary& vocabulary, const BatchOptions& options);
  const BatchOptions& options() const { return options_; }

  // Replaces `batch`. The same for the same chunk and seed, in every process.
  void Build(std::span<const WordId> chunk, uint64_t seed, Batch& batch);

 private:
  // Numbers the words of a batch in order of appearance.
  class RowNumbers {
   public:
    explicit RowNumbers(size_t words) : row_of_word_(words, kNone) {}
    uint32_t RowOf(WordId word, std::vector<ps::Key>& keys);
    void Forget(const std::vector<ps::Key>& keys);

   private:
    static constexpr uint32_t kNone = ~uint32_t{0};
    std::vector<uint32_t> row_of_word_;
  };

  WordId DrawNegative(Random& random) const;

  const BatchOptions options_;
  std::vector<float> keep_;              // probability by word
  std::vector<double> negatives_up_to_;  // weight of this word and those before it
  std::vector<WordId> kept_;             // words of the chunk that are left
  RowNumbers inputs_, outputs_;
};

}  // namespace attune::word2vec
