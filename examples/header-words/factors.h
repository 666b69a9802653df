// Matrix factorization with biases (Koren, Bell and Volinsky 2009): a cell is the mean of all, plus what its header and
// its identifier add by themselves, plus the inner product of their vectors. A row holds the vector, then the bias.
#pragma once

#include <cstddef>
#include <vector>

#include "examples/header-words/batch.h"

namespace attune::header_words {

struct Rows {
  std::vector<float> headers, identifiers;  // of the batch's keys, dim + 1 values each

  void Resize(const Batch& batch, size_t dim) {
    headers.resize(batch.headers.size() * (dim + 1));
    identifiers.resize(batch.identifiers.size() * (dim + 1));
  }
};

struct FactorOptions {
  size_t dim = 32;
  float mean = 0;  // of all cells
  float regularization = 0.05F;
};

// Of two rows.
float Predict(const float* header, const float* identifier, const FactorOptions& options);

// Half the sum over the batch's cells of error^2 + regularization * (|header|^2 + |identifier|^2), the vectors without
// their biases; `gradients` becomes its derivative by every row. Returns the sum of error^2 alone.
double LossAndGradients(const Batch& batch, const FactorOptions& options, const Rows& rows, Rows& gradients);

}  // namespace attune::header_words
