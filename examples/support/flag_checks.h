// Checks of numbers on the command lines of the examples: what is allowed is said (base/number_text.h).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "base/number_text.h"

namespace attune::examples {

inline CLI::Validator WholeNumber(int64_t low, int64_t high = kNoMaximum) {
  const std::string range = "from " + std::to_string(low) + (high == kNoMaximum ? "" : " to " + std::to_string(high));
  return {[low, high](std::string& text) { return ProblemOfWholeNumber(text, low, high); }, range};
}
inline CLI::Validator Number(double low, double high = std::numeric_limits<double>::infinity()) {
  return {[low, high](std::string& text) { return ProblemOfNumber(text, low, high); }, ""};
}
inline CLI::Validator PositiveNumber() {
  return {[](std::string& text) { return ProblemOfPositiveNumber(text); }, "above 0"};
}

}  // namespace attune::examples
