#include "base/number_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace attune {
namespace {

std::string Short(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::optional<double> Finite(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string Not(const std::string& text, const std::string& allowed) { return "\"" + text + "\" is not " + allowed; }

}  // namespace

std::string WholeNumbers(int64_t low, int64_t high) {
  return high == kNoMaximum ? "a whole number of at least " + std::to_string(low)
                            : "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
}

std::string ProblemOfWholeNumber(const std::string& text, int64_t low, int64_t high) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  const bool fits = error == std::errc() && parsed == end && number >= low && number <= high;
  return fits ? "" : Not(text, WholeNumbers(low, high));
}

std::string ProblemOfNumber(const std::string& text, double low, double high) {
  const std::optional<double> number = Finite(text);
  if (number && *number >= low && *number <= high) return "";
  return Not(text, std::isfinite(high)  ? "a number from " + Short(low) + " to " + Short(high)
                   : std::isfinite(low) ? "a number of at least " + Short(low)
                                        : std::string("a finite number"));
}

std::string ProblemOfPositiveNumber(const std::string& text) {
  const std::optional<double> number = Finite(text);
  return number && *number > 0 ? "" : Not(text, "a number above 0");
}

}  // namespace attune
