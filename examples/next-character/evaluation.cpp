#include "examples/next-character/evaluation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"

namespace attune::next_character {

double HeldOutBits(Network& network, const Parameters& parameters, std::span<const Symbol> text,
                   const Positions& positions, uint64_t count) {
  constexpr size_t kTogether = 1024;
  const std::vector<uint64_t> held_out = positions.HeldOut(count);
  double nats = 0;
  for (size_t begin = 0; begin < held_out.size(); begin += kTogether) {
    const auto part = std::span(held_out).subspan(begin, std::min(kTogether, held_out.size() - begin));
    nats += network.Loss(parameters, text, part) * static_cast<double>(part.size());
  }
  return nats / static_cast<double>(held_out.size()) / std::log(2.0);
}

double BigramBits(std::span<const Symbol> text, const Positions& positions, uint64_t count) {
  std::array<std::array<double, kSymbols>, kSymbols> seen{};
  std::array<double, kSymbols> before{};
  constexpr double kPrior = 0.1;  // of every pair, so that none is impossible
  for (uint64_t position = 1; position < text.size(); ++position) {
    if (positions.IsHeldOut(position)) continue;
    ++seen[text[position - 1]][text[position]];
    ++before[text[position - 1]];
  }
  double bits = 0;
  const std::vector<uint64_t> held_out = positions.HeldOut(count);
  for (const uint64_t position : held_out) {
    const Symbol last = text[position - 1];
    bits -= std::log2((seen[last][text[position]] + kPrior) / (before[last] + kPrior * kSymbols));
  }
  return bits / static_cast<double>(held_out.size());
}

std::string MakeUp(Network& network, const NetworkOptions& options, const Parameters& parameters,
                   const SamplingOptions& sampling) {
  Random random(sampling.seed);
  std::vector<Symbol> symbols(options.context, SymbolOf('\n'));
  std::string text;
  const auto append = [&](Symbol symbol) {
    symbols.push_back(symbol);
    text += CharacterOf(symbol);
  };
  for (const char character : sampling.prompt) append(SymbolOf(character));
  for (size_t i = 0; i < sampling.characters; ++i) {
    const std::span<const float> likely = network.Predict(parameters, std::span(symbols).last(options.context));
    std::array<double, kSymbols> up_to;
    double sum = 0;
    for (size_t s = 0; s < kSymbols; ++s) up_to[s] = sum += std::pow(double{likely[s]}, 1 / sampling.temperature);
    const auto drawn = std::upper_bound(up_to.begin(), up_to.end() - 1, random.Uniform() * sum);
    append(static_cast<Symbol>(drawn - up_to.begin()));
  }
  return text;
}

}  // namespace attune::next_character
