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
#include "examples/word2vec/vocabulary.h"

namespace attune::word2vec {

struct BatchOptions {
  uint32_t window = 5;            // neighbors on each side at most
  float negatives = 5;            // per pair of word and neighbor
  uint32_t group_words = 64;      // words that share negatives
  uint32_t group_negatives = 24;  // drawn for each group
  double subsample = 1e-4;        // threshold of relative frequency; see Vocabulary::KeepProbabilities
};

// Row numbers count within the batch: row r of the inputs belongs to input_keys[r].
struct Batch {
  struct Word {
    uint32_t input;        // row
    uint32_t pairs_begin;  // its pairs: up to the next word's pairs_begin
  };
  struct Group {
    uint32_t words_begin;  // up to the next group's; the last group is an end mark
    uint32_t negatives_begin;
  };

  std::vector<ps::Key> input_keys, output_keys;  // unique
  std::vector<Word> words;                       // and an end mark
  std::vector<uint32_t> pairs;                   // rows of neighbors
  std::vector<uint32_t> negatives;               // rows
  std::vector<Group> groups;                     // and an end mark
  uint64_t words_read = 0;                       // of the chunk, before thinning

  size_t pair_count() const { return pairs.size(); }
};

// Builds batches one after another; keeps its tables between them. One thread at a time.
class BatchBuilder {
 public:
  // `vocabulary` must outlive it.
  BatchBuilder(const Vocabulary& vocabulary, const BatchOptions& options);
  const BatchOptions& options() const { return options_; }

  // Replaces `batch`. The same for the same chunk and seed, in every process.
  void Build(std::span<const WordId> chunk, uint64_t seed, Batch& batch);

 private:
  // Rows of words within the batch being built.
  class RowNumbers {
   public:
    explicit RowNumbers(size_t words) : row_of_word_(words), batch_of_word_(words) {}
    void Begin(std::vector<ps::Key>& keys);
    uint32_t RowOf(WordId word);

   private:
    std::vector<uint32_t> row_of_word_;
    std::vector<uint64_t> batch_of_word_;  // which batch row_of_word_ is of
    uint64_t batch_ = 0;
    std::vector<ps::Key>* keys_ = nullptr;
  };

  void AddWord(size_t position, Random& random, Batch& batch);

  const BatchOptions options_;
  const std::vector<float> keep_;
  const NegativeSampler sampler_;
  std::vector<WordId> kept_;  // words of the chunk that are left
  RowNumbers inputs_, outputs_;
};

}  // namespace attune::word2vec
