// Loss and gradients of a batch, given its rows. Pure; vectorized for the processor at hand.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "examples/word2vec/batch.h"

namespace attune::word2vec {

struct BatchRows {
  std::vector<float> inputs, outputs;  // keys.size() * dim, in the order of the batch's keys

  void Resize(const Batch& batch, size_t dim) {
    inputs.resize(batch.input_keys.size() * dim);
    outputs.resize(batch.output_keys.size() * dim);
  }
};

// Sum over the pairs of the batch of -log s(in . out) - (negatives / group_negatives) * sum over the group's negatives
// of log s(-in . negative). `gradients` becomes its derivative by every row. Scores are clamped to +-15.
double LossAndGradients(const Batch& batch, const BatchOptions& options, size_t dim, const BatchRows& rows,
                        BatchRows& gradients);

// The loss alone.
double Loss(const Batch& batch, const BatchOptions& options, size_t dim, const BatchRows& rows);

}  // namespace attune::word2vec
