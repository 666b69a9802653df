// The text as symbols, and which of its characters are trained in which step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace attune::next_character {

using Symbol = uint8_t;

// Newline, tab, the printable ASCII characters, and one symbol for all others.
inline constexpr size_t kSymbols = 98;
Symbol SymbolOf(char character);
char CharacterOf(Symbol symbol);  // '?' for the others

struct Text {
  std::vector<Symbol> symbols;  // all files one after another in the order of their paths
  uint64_t files = 0;

  std::string Description() const;  // a line for people
};

inline constexpr uint64_t kTextMin = uint64_t{64} * 1024;  // characters
// InvalidArgument: the files hold less than kTextMin.
StatusOr<Text> LoadText(const std::vector<std::filesystem::path>& directories);

// Which characters are predicted when. One block of text in fifty is held out: its characters are never what training
// predicts. What precedes a character, its context, may lie in the other part. The text must outlive it.
class Positions {
 public:
  // Positions have `context` characters before them. At least kTextMin characters are needed.
  Positions(std::span<const Symbol> text, uint64_t context);

  // Number n of an endless sequence that meets every position of the training part once before it repeats one; runs of
  // it are spread evenly over the text.
  uint64_t Training(uint64_t n) const;
  uint64_t training_count() const { return training_count_; }
  // The positions of item `item` of `epoch`, when an epoch has `items` of `batch` characters.
  void Batch(uint64_t epoch, uint64_t item, uint64_t items, uint64_t batch, std::vector<uint64_t>& positions) const;
  // `count` positions of the held-out part, spread evenly.
  std::vector<uint64_t> HeldOut(uint64_t count) const;
  bool IsHeldOut(uint64_t position) const { return position / kBlock % kHeldOutEvery == kHeldOutEvery - 1; }

 private:
  static constexpr uint64_t kBlock = 1024, kHeldOutEvery = 50;

  uint64_t text_size_, context_, training_count_ = 0, stride_ = 1;
};

}  // namespace attune::next_character
