#include "examples/header-words/factors.h"

namespace attune::header_words {

float Predict(const float* header, const float* identifier, const FactorOptions& options) {
  float product = 0;
#pragma omp simd reduction(+ : product)
  for (size_t i = 0; i < options.dim; ++i) product += header[i] * identifier[i];
  return options.mean + header[options.dim] + identifier[options.dim] + product;
}

double LossAndGradients(const Batch& batch, const FactorOptions& options, const Rows& rows, Rows& gradients) {
  const size_t dim = options.dim, stride = dim + 1;
  gradients.headers.assign(rows.headers.size(), 0);
  gradients.identifiers.assign(rows.identifiers.size(), 0);
  double squares = 0;
  for (size_t cell = 0; cell < batch.cells(); ++cell) {
    const size_t header_at = batch.header_rows[cell] * stride, identifier_at = batch.identifier_rows[cell] * stride;
    const float* const header = &rows.headers[header_at];
    const float* const identifier = &rows.identifiers[identifier_at];
    float* const by_header = &gradients.headers[header_at];
    float* const by_identifier = &gradients.identifiers[identifier_at];
    const float error = Predict(header, identifier, options) - batch.values[cell];
#pragma omp simd
    for (size_t i = 0; i < dim; ++i) {
      by_header[i] += error * identifier[i] + options.regularization * header[i];
      by_identifier[i] += error * header[i] + options.regularization * identifier[i];
    }
    by_header[dim] += error;
    by_identifier[dim] += error;
    squares += static_cast<double>(error) * error;
  }
  return squares;
}

}  // namespace attune::header_words
