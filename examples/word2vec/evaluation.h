// What is left when training is over: held-out loss, vectors as a file, nearest neighbors.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "base/status.h"
#include "examples/word2vec/batch.h"
#include "examples/word2vec/corpus.h"

namespace attune::word2vec {

// All rows of both tables, row i being word i.
struct Model {
  size_t dim = 0;
  std::vector<float> inputs, outputs;
};

// Mean loss per pair over the held-out chunks, always with the same windows and negatives.
double HeldOutLoss(const Model& model, const Chunks& chunks, BatchBuilder& builder);

// The text format of the word2vec tool: a line "words dim", then a line per word. Written whole or not at all.
Status WriteVectors(const std::filesystem::path& path, const Model& model, const Vocabulary& vocabulary);

// A word per line, line k being the word of key k: names the rows that `attune export` writes.
Status WriteVocabulary(const std::filesystem::path& path, const Vocabulary& vocabulary);

// "mutex: lock_guard 0.83, ..." : the `count` words of the highest cosine, of those seen often enough to be trusted.
std::string Neighbors(const Model& model, const Vocabulary& vocabulary, std::string_view word, size_t count = 8);

}  // namespace attune::word2vec
