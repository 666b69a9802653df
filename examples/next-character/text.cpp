#include "examples/next-character/text.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "examples/support/text_files.h"

namespace attune::next_character {

Symbol SymbolOf(char character) {
  if (character == '\n') return 0;
  if (character == '\t') return 1;
  if (character >= ' ' && character <= '~') return static_cast<Symbol>(2 + (character - ' '));
  return kSymbols - 1;
}

char CharacterOf(Symbol symbol) {
  if (symbol == 0) return '\n';
  if (symbol == 1) return '\t';
  return symbol < kSymbols - 1 ? static_cast<char>(' ' + symbol - 2) : '?';
}

std::string Text::Description() const {
  return "text: " + std::to_string(files) + " files, " + std::to_string(symbols.size()) + " characters";
}

StatusOr<Text> LoadText(const std::vector<std::filesystem::path>& directories) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, examples::ListFiles(directories));
  Text text;
  examples::ReadTexts(files, [&](const std::string&, const std::string& content) {
    ++text.files;
    std::transform(content.begin(), content.end(), std::back_inserter(text.symbols), SymbolOf);
  });
  if (text.symbols.size() >= kTextMin) return text;
  return Error(StatusCode::kInvalidArgument, text.Description() + " are too few, " + std::to_string(kTextMin) +
                                                 " are needed; give more text with --text");
}

// Positions run from the first with a whole context. Training ones are numbered without the blocks held out.
Positions::Positions(std::span<const Symbol> text, uint64_t context) : text_size_(text.size()), context_(context) {
  ATTUNE_CHECK(text_size_ >= kTextMin && context_ < kBlock) << "text of " << text_size_;
  constexpr uint64_t kRound = kBlock * kHeldOutEvery, kTrained = kBlock * (kHeldOutEvery - 1);
  const uint64_t rest = text_size_ % kRound;
  training_count_ = text_size_ / kRound * kTrained + std::min(rest, kTrained) - context_;
  // Multiples of the golden ratio are spread evenly modulo 1, however many of them are taken.
  stride_ = static_cast<uint64_t>(0.6180339887498949 * static_cast<double>(training_count_));
  while (std::gcd(stride_, training_count_) > 1) ++stride_;
}

uint64_t Positions::Training(uint64_t n) const {
  constexpr uint64_t kTrained = kBlock * (kHeldOutEvery - 1);
  const uint64_t number = context_ + n % training_count_ * stride_ % training_count_;
  return number + number / kTrained * kBlock;
}

void Positions::Batch(uint64_t epoch, uint64_t item, uint64_t items, uint64_t batch,
                      std::vector<uint64_t>& positions) const {
  positions.resize(batch);
  for (uint64_t i = 0; i < batch; ++i) positions[i] = Training((epoch * items + item) * batch + i);
}

std::vector<uint64_t> Positions::HeldOut(uint64_t count) const {
  constexpr uint64_t kRound = kBlock * kHeldOutEvery;
  const uint64_t available = text_size_ / kRound * kBlock;
  count = std::min(count, available);
  std::vector<uint64_t> positions(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = i * available / count;
    positions[i] = number / kBlock * kRound + kRound - kBlock + number % kBlock;
  }
  return positions;
}

}  // namespace attune::next_character
