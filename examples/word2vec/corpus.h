// The text as a stream of word ids, cut into the items of training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace attune::word2vec {

using WordId = uint32_t;

// The words that are trained, most frequent first; a word's place is its id and its key in the tables. Ties are broken
// by spelling, so every worker that reads the same text has the same vocabulary.
struct Vocabulary {
  Vocabulary() = default;
  // Leaves out words seen less than `count_min` times.
  Vocabulary(std::vector<std::pair<std::string, uint64_t>> counted, uint64_t count_min);

  size_t size() const { return words.size(); }
  std::optional<WordId> Find(std::string_view word) const;

  std::vector<std::string> words;
  std::vector<uint64_t> counts;
};

struct CorpusOptions {
  std::vector<std::filesystem::path> directories;
  uint64_t count_min = 10;
};

struct Corpus {
  Vocabulary vocabulary;
  std::vector<WordId> text;  // all files one after another in the order of their paths, rare words left out
  uint64_t files = 0, bytes = 0;

  std::string Description() const;  // a line for people
};

// The files that examples::ListFiles finds. InvalidArgument: no two words are frequent enough.
StatusOr<Corpus> LoadCorpus(const CorpusOptions& options);

// The text in chunks. Every 50th is held out; the others are the items of training, shuffled so that a run of
// consecutive items, as in a lease, is an even sample of the whole text.
class Chunks {
 public:
  Chunks(std::span<const WordId> text, uint64_t chunk_words);

  uint64_t training_count() const { return count_ - held_out_count(); }
  uint64_t held_out_count() const { return count_ / kHeldOutEvery; }
  // Every item of an epoch is another chunk.
  std::span<const WordId> Training(uint64_t epoch, uint64_t item) const;
  std::span<const WordId> HeldOut(uint64_t i) const { return At(i * kHeldOutEvery + kHeldOutEvery - 1); }

 private:
  static constexpr uint64_t kHeldOutEvery = 50;
  std::span<const WordId> At(uint64_t i) const {
    return text_.subspan(i * chunk_words_, std::min<uint64_t>(chunk_words_, text_.size() - i * chunk_words_));
  }

  std::span<const WordId> text_;
  uint64_t chunk_words_, count_;
  uint64_t stride_ = 1;  // between the chunks of consecutive items; shares no divisor with training_count()
};

}  // namespace attune::word2vec
