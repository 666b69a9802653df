// The text as a stream of word ids: a deterministic, evenly spread sample of a directory's files, read by a few
// threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/status.h"
#include "examples/word2vec/vocabulary.h"

namespace attune::word2vec {

struct CorpusOptions {
  std::filesystem::path directory;
  double megabytes = 0;    // of text to take; 0: all
  uint64_t count_min = 5;  // rarer words are left out
  size_t vocabulary_max = 50'000;
  uint32_t threads = 2;
};

struct Corpus {
  Vocabulary vocabulary;
  std::vector<WordId> words;  // all files one after another, rare words left out
  uint64_t files = 0, bytes = 0;
};

// The same result for every number of threads. NotFound: no such directory or no text in it; InvalidArgument: no word
// is frequent enough. Files that cannot be read, are larger than 8 MiB or hold a NUL byte are left out.
StatusOr<Corpus> LoadCorpus(const CorpusOptions& options);

// The stream cut into chunks; a part of them, evenly spread, is held out from training.
class Chunks {
 public:
  static constexpr uint64_t kHeldOutEvery = 50;

  Chunks(std::span<const WordId> words, uint64_t chunk_words) : words_(words), chunk_words_(chunk_words) {}

  uint64_t training_count() const { return count() - held_out_count(); }
  uint64_t held_out_count() const { return count() / kHeldOutEvery; }
  std::span<const WordId> Training(uint64_t i) const { return At(i + i / (kHeldOutEvery - 1)); }
  std::span<const WordId> HeldOut(uint64_t i) const { return At(i * kHeldOutEvery + kHeldOutEvery - 1); }

 private:
  uint64_t count() const { return (words_.size() + chunk_words_ - 1) / chunk_words_; }
  std::span<const WordId> At(uint64_t i) const {
    const uint64_t begin = i * chunk_words_;
    return words_.subspan(begin, std::min<uint64_t>(chunk_words_, words_.size() - begin));
  }

  std::span<const WordId> words_;
  uint64_t chunk_words_;
};

}  // namespace attune::word2vec
