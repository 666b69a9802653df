// What a trained model is worth: how far it is off in cells it has never seen, beside what biases alone give; and what
// it says of headers, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "examples/header-words/corpus.h"
#include "examples/header-words/factors.h"

namespace attune::header_words {

struct Model {
  FactorOptions options;
  std::vector<float> headers, identifiers;  // row by key

  const float* HeaderRow(HeaderId id) const { return &headers[id * (options.dim + 1)]; }
  const float* IdentifierRow(IdentifierId id) const { return &identifiers[id * (options.dim + 1)]; }
  float At(HeaderId header, IdentifierId identifier) const {
    return Predict(HeaderRow(header), IdentifierRow(identifier), options);
  }
};

struct HeldOutCell {
  HeaderId header = 0;
  IdentifierId identifier = 0;
  float value = 0;
};
// All that are not 0, and for each of them one of the same header that is, drawn like those of training.
std::vector<HeldOutCell> HeldOutCells(const Corpus& corpus, uint64_t seed);

// Mean of the cells of training, of which there are as many zeros as others.
float MeanOf(const Corpus& corpus);

// A bias for each header and identifier, without vectors: what popularity and size explain. Fitted to the cells of
// training by turns, each pulled towards 0 as if it had been seen 5 times more (Koren 2008, section 2.1).
class Additive {
 public:
  Additive(const Corpus& corpus, float mean, uint64_t seed);
  float At(HeaderId header, IdentifierId identifier) const {
    return mean_ + headers_[header] + identifiers_[identifier];
  }

 private:
  const float mean_;
  std::vector<float> headers_, identifiers_;
};

// Root of the mean square over held-out cells.
struct Errors {
  size_t cells = 0;
  double model = 0, additive = 0, mean = 0;
};
Errors Judge(const Model& model, const Additive& additive, const std::vector<HeldOutCell>& cells);

// The headers whose vectors point most nearly the same way, best first; the header itself left out.
std::vector<HeaderId> Kindred(const Model& model, HeaderId header, size_t count);
// Identifiers that do not occur in the header, those first whose vectors would most have them there: biases are left
// out, or every header would lack the same names.
std::vector<IdentifierId> Lacking(const Model& model, const Corpus& corpus, HeaderId header, size_t count);

// For people: the errors, and both lists for each header named (unknown ones are passed over).
std::string Report(const Model& model, const Corpus& corpus, const Errors& errors,
                   const std::vector<std::string>& headers);

}  // namespace attune::header_words
