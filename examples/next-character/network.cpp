#include "examples/next-character/network.h"

#include <algorithm>

#include "examples/support/products.h"

namespace attune::next_character {
namespace {

using examples::AddProduct;
using examples::Matrix;
using examples::MutableMatrix;
using examples::SoftmaxLoss;

}  // namespace

std::array<LayerShape, kLayers> Shapes(const NetworkOptions& options) {
  return {{{kSymbols, options.embedding},
           {options.context * options.embedding + 1, options.hidden1},
           {options.hidden1 + 1, options.hidden2},
           {options.hidden2 + 1, kSymbols}}};
}

Network::Network(const NetworkOptions& options) : options_(options), shapes_(Shapes(options)) {}

void Network::Forward(const Parameters& parameters, std::span<const Symbol> text, std::span<const uint64_t> positions) {
  const size_t n = positions.size(), dim = options_.embedding;
  for (size_t layer = 0; layer < 3; ++layer) inputs_[layer].assign(n * shapes_[layer + 1].rows, 0);
  for (size_t i = 0; i < n; ++i) {
    float* to = &inputs_[0][i * shapes_[1].rows];
    const Symbol* context = text.data() + positions[i] - options_.context;
    for (size_t c = 0; c < options_.context; ++c) std::copy_n(&parameters[0][context[c] * dim], dim, to + c * dim);
  }
  scores_.assign(n * kSymbols, 0);
  for (size_t layer = 1; layer < kLayers; ++layer) {
    const LayerShape& shape = shapes_[layer];
    std::vector<float>& input = inputs_[layer - 1];
    for (size_t i = 0; i < n; ++i) {
      float* row = &input[i * shape.rows];
      if (layer > 1) std::transform(row, row + shape.rows - 1, row, [](float x) { return std::max(x, 0.0F); });
      row[shape.rows - 1] = 1;
    }
    const bool is_last = layer + 1 == kLayers;
    const MutableMatrix output = is_last ? MutableMatrix{scores_.data(), n, kSymbols}
                                         : MutableMatrix{inputs_[layer].data(), n, shape.columns, shape.columns + 1};
    AddProduct({input.data(), n, shape.rows}, {parameters[layer].data(), shape.rows, shape.columns}, output);
  }
}

void Network::Backward(const Parameters& parameters, std::span<const Symbol> text, std::span<const uint64_t> positions,
                       Parameters& gradients) {
  const size_t n = positions.size(), dim = options_.embedding;
  Matrix by_output{scores_.data(), n, kSymbols};
  for (size_t layer = kLayers - 1; layer > 0; --layer) {
    const LayerShape& shape = shapes_[layer];
    const std::vector<float>& input = inputs_[layer - 1];
    gradients[layer].assign(shape.size(), 0);
    AddProduct(Matrix{input.data(), n, shape.rows}.Transposed(), by_output,
               {gradients[layer].data(), shape.rows, shape.columns});
    // By the inputs, without the constant one.
    std::vector<float>& by_input = by_input_[layer - 1];
    const size_t inputs = shape.rows - 1;
    by_input.assign(n * inputs, 0);
    AddProduct(by_output, Matrix{parameters[layer].data(), inputs, shape.columns}.Transposed(),
               {by_input.data(), n, inputs});
    for (size_t i = 0; layer > 1 && i < n; ++i) {
      const float* unit = &input[i * shape.rows];
      float* by_unit = &by_input[i * inputs];
      for (size_t j = 0; j < inputs; ++j) by_unit[j] = unit[j] > 0 ? by_unit[j] : 0.0F;
    }
    by_output = {by_input.data(), n, inputs};
  }
  gradients[0].assign(shapes_[0].size(), 0);
  for (size_t i = 0; i < n; ++i) {
    const Symbol* context = text.data() + positions[i] - options_.context;
    const float* from = &by_input_[0][i * options_.context * dim];
    for (size_t c = 0; c < options_.context; ++c) {
      float* to = &gradients[0][context[c] * dim];
      for (size_t d = 0; d < dim; ++d) to[d] += from[c * dim + d];
    }
  }
}

double Network::Loss(const Parameters& parameters, std::span<const Symbol> text, std::span<const uint64_t> positions) {
  Forward(parameters, text, positions);
  right_.clear();
  for (const uint64_t position : positions) right_.push_back(text[position]);
  return SoftmaxLoss({scores_.data(), positions.size(), kSymbols}, right_) / static_cast<double>(positions.size());
}

double Network::LossAndGradients(const Parameters& parameters, std::span<const Symbol> text,
                                 std::span<const uint64_t> positions, Parameters& gradients) {
  const double loss = Loss(parameters, text, positions);
  const float scale = 1 / static_cast<float>(positions.size());
  for (float& score : scores_) score *= scale;
  Backward(parameters, text, positions, gradients);
  return loss;
}

std::span<const float> Network::Predict(const Parameters& parameters, std::span<const Symbol> context) {
  const uint64_t position = context.size();
  Forward(parameters, context, {&position, 1});
  const uint32_t any = 0;
  SoftmaxLoss({scores_.data(), 1, kSymbols}, {&any, 1});
  scores_[any] += 1;  // the loss took it off
  return scores_;
}

}  // namespace attune::next_character
