// What a trained network is worth: bits for each held-out character, beside what pairs of characters give; and text
// that it makes up.
#pragma once

#include <string>

#include "examples/next-character/network.h"

namespace attune::next_character {

// Mean of -log2 p(character) over `count` held-out positions.
double HeldOutBits(Network& network, const Parameters& parameters, std::span<const Symbol> text,
                   const Positions& positions, uint64_t count);
// The same for p(character | the one before it), counted in the training part.
double BigramBits(std::span<const Symbol> text, const Positions& positions, uint64_t count);

struct SamplingOptions {
  std::string prompt = "#include <";
  size_t characters = 500;
  double temperature = 0.8;  // below 1 prefers what is likely, above 1 what is not
  uint64_t seed = 1;
};
// The prompt, and characters drawn one after another.
std::string MakeUp(Network& network, const NetworkOptions& options, const Parameters& parameters,
                   const SamplingOptions& sampling);

}  // namespace attune::next_character
