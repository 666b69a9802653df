#include "examples/support/flag_checks.h"

#include <CLI/CLI.hpp>
#include <string>

namespace attune::examples {

CLI::Validator WholeNumber(int64_t low, int64_t high) {
  const std::string range = "from " + std::to_string(low) + (high == kNoMaximum ? "" : " to " + std::to_string(high));
  return {[low, high](std::string& text) { return ProblemOfWholeNumber(text, low, high); }, range};
}

CLI::Validator Number(double low, double high) {
  return {[low, high](std::string& text) { return ProblemOfNumber(text, low, high); }, ""};
}

CLI::Validator PositiveNumber() {
  return {[](std::string& text) { return ProblemOfPositiveNumber(text); }, "above 0"};
}

}  // namespace attune::examples
