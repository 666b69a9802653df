#include "examples/header-words/batch.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace attune::header_words {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

}  // namespace

IdentifierId DrawIdentifier(const Corpus& corpus, Random& random) {
  return corpus.cells[random.Below(corpus.cells.size())].identifier;
}

// Headers of one directory are neighbors in the corpus: items take them from everywhere, or whole steps would be about
// one library.
BatchBuilder::BatchBuilder(const Corpus& corpus, uint32_t headers, uint64_t seed)
    : corpus_(corpus), headers_(headers), seed_(seed), row_of_identifier_(corpus.identifiers.size(), kNone) {
  const uint64_t n = corpus.headers.size();
  stride_ = 1 + SplitMix64(seed) % n;
  while (std::gcd(stride_, n) > 1) ++stride_;
}

uint32_t BatchBuilder::RowOf(IdentifierId identifier, Batch& batch) {
  uint32_t& row = row_of_identifier_[identifier];
  if (row == kNone) {
    row = static_cast<uint32_t>(batch.identifiers.size());
    batch.identifiers.push_back(identifier);
  }
  return row;
}

void BatchBuilder::Add(HeaderId header, Random& random, Batch& batch) {
  const auto row = static_cast<uint32_t>(batch.headers.size());
  batch.headers.push_back(header);
  const auto add = [&](IdentifierId identifier, float value) {
    if (IsHeldOut(header, identifier)) return;
    batch.header_rows.push_back(row);
    batch.identifier_rows.push_back(RowOf(identifier, batch));
    batch.values.push_back(value);
  };
  const std::span<const Cell> cells = corpus_.CellsOf(header);
  for (const Cell& cell : cells) add(cell.identifier, cell.value);
  for (size_t i = 0; i < cells.size(); ++i) {
    const IdentifierId identifier = DrawIdentifier(corpus_, random);
    if (corpus_.ValueAt(header, identifier) == 0) add(identifier, 0);
  }
}

void BatchBuilder::Build(uint64_t epoch, uint64_t item, Batch& batch) {
  for (auto* keys : {&batch.headers, &batch.identifiers}) keys->clear();
  for (auto* rows : {&batch.header_rows, &batch.identifier_rows}) rows->clear();
  batch.values.clear();
  Random random(SplitMix64(SplitMix64(SplitMix64(seed_) + epoch) + item));
  const uint64_t n = corpus_.headers.size(), begin = item * headers_, end = std::min(n, begin + headers_);
  for (uint64_t place = begin; place < end; ++place) {
    Add(static_cast<HeaderId>(place * stride_ % n), random, batch);
  }
  for (const ps::Key identifier : batch.identifiers) row_of_identifier_[identifier] = kNone;
}

}  // namespace attune::header_words
