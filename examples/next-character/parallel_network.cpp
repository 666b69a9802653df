#include "examples/next-character/parallel_network.h"

#include <algorithm>

namespace attune::next_character {

ParallelNetwork::Part& ParallelNetwork::PartOf(size_t number) {
  while (parts_.size() <= number) parts_.push_back(std::make_unique<Part>(options_));
  return *parts_[number];
}

double ParallelNetwork::LossAndGradients(const Parameters& parameters, std::span<const Symbol> text,
                                         std::span<const uint64_t> positions, uint32_t threads, Parameters& gradients) {
  const size_t n = positions.size();
  const auto count = static_cast<uint32_t>(std::clamp<size_t>(threads, 1, std::max<size_t>(n, 1)));
  if (count == 1) return network().LossAndGradients(parameters, text, positions, gradients);
  PartOf(count - 1);  // all of them, before threads look
  const auto begin = [&](size_t part) { return n * part / count; };
  team_.Run(count, [&](uint32_t i) {
    Part& part = *parts_[i];
    part.loss = part.network.LossAndGradients(parameters, text, positions.subspan(begin(i), begin(i + 1) - begin(i)),
                                              part.gradients);
  });
  // Each part has the mean over its own positions.
  double loss = 0;
  for (size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(begin(i + 1) - begin(i)) / static_cast<double>(n);
    loss += share * parts_[i]->loss;
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const std::vector<float>& from = parts_[i]->gradients[layer];
      std::vector<float>& to = gradients[layer];
      if (i == 0) to.assign(from.size(), 0);
      for (size_t k = 0; k < from.size(); ++k) to[k] += static_cast<float>(share) * from[k];
    }
  }
  return loss;
}

}  // namespace attune::next_character
