// One step's work: all cells of some headers that are not 0, as many that are, and the few rows that they touch.
//
// Zeros are drawn as often as their identifiers occur elsewhere: that a name which is everywhere is missing here says
// something, that a rare one is says nothing. A header is in one item of each epoch, always with the same others, so
// its row is touched by one worker at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/ps/session.h"
#include "base/random.h"
#include "examples/header-words/corpus.h"

namespace attune::header_words {

// Row numbers count within the batch: row r of the headers belongs to headers[r].
struct Batch {
  std::vector<ps::Key> headers, identifiers;  // each once
  std::vector<uint32_t> header_rows, identifier_rows;
  std::vector<float> values;  // of each cell

  size_t cells() const { return values.size(); }
};

// An identifier drawn as often as it occurs.
IdentifierId DrawIdentifier(const Corpus& corpus, Random& random);

// Builds batches one after another; keeps its tables between them. One thread at a time. The corpus must outlive it.
class BatchBuilder {
 public:
  // `headers`: of an item.
  BatchBuilder(const Corpus& corpus, uint32_t headers, uint64_t seed);

  uint64_t count() const { return (corpus_.headers.size() + headers_ - 1) / headers_; }
  // Replaces `batch` by item `item` of `epoch`, without cells that are held out. The same in every process.
  void Build(uint64_t epoch, uint64_t item, Batch& batch);

 private:
  void Add(HeaderId header, Random& random, Batch& batch);
  uint32_t RowOf(IdentifierId identifier, Batch& batch);

  const Corpus& corpus_;
  const uint32_t headers_;
  const uint64_t seed_;
  uint64_t stride_ = 1;  // between the headers of consecutive places
  std::vector<uint32_t> row_of_identifier_;
};

}  // namespace attune::header_words
