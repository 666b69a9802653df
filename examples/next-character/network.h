// A small dense network that says which character comes next (Bengio et al. 2003): the characters before it as vectors
// side by side, two hidden layers of rectified linear units, softmax.
//
// Every matrix is a table of the job. A row of a table holds the weights that leave one input of the layer, a chunk of
// fixed size of the dense matrix; the last row belongs to the constant input 1 (biases). Each step needs all rows.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "attune/ps/session.h"
#include "examples/next-character/text.h"

namespace attune::next_character {

struct NetworkOptions {
  uint32_t context = 24;  // characters looked at
  uint32_t embedding = 16;
  uint32_t hidden1 = 256;
  uint32_t hidden2 = 128;
};

inline constexpr size_t kLayers = 4;  // vectors of characters, first hidden, second hidden, output
inline constexpr std::array<const char*, kLayers> kLayerNames = {"embedding", "hidden1", "hidden2", "output"};

struct LayerShape {
  size_t rows = 0, columns = 0;
  size_t size() const { return rows * columns; }
};
std::array<LayerShape, kLayers> Shapes(const NetworkOptions& options);

// One matrix for each layer, row by row; also their derivatives.
using Parameters = std::array<std::vector<float>, kLayers>;

// Memory of its own, reused from call to call. One thread at a time.
class Network {
 public:
  explicit Network(const NetworkOptions& options);

  // Mean over the positions of -log p(character | its context), in nats; `gradients` becomes its derivative. Positions
  // have a whole context before them.
  double LossAndGradients(const Parameters& parameters, std::span<const Symbol> text,
                          std::span<const uint64_t> positions, Parameters& gradients);
  double Loss(const Parameters& parameters, std::span<const Symbol> text, std::span<const uint64_t> positions);
  // The probabilities of the character after `context`, whose size is options.context.
  std::span<const float> Predict(const Parameters& parameters, std::span<const Symbol> context);

 private:
  // Leaves logits in scores_.
  void Forward(const Parameters& parameters, std::span<const Symbol> text, std::span<const uint64_t> positions);
  void Backward(const Parameters& parameters, std::span<const Symbol> text, std::span<const uint64_t> positions,
                Parameters& gradients);

  const NetworkOptions options_;
  const std::array<LayerShape, kLayers> shapes_;
  // One row for each position. Inputs of the three dense layers, the constant 1 last; then their derivatives.
  std::array<std::vector<float>, 3> inputs_, by_input_;
  std::vector<float> scores_;
  std::vector<uint32_t> right_;
};

}  // namespace attune::next_character
