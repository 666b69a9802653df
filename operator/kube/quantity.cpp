#include "operator/kube/quantity.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

namespace attune::kube {
namespace {

size_t Digits(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

// Length of "12", "1.5", ".5" or "1." at the beginning; 0: none.
size_t NumberLength(std::string_view text) {
  const size_t whole = Digits(text);
  if (whole == text.size() || text[whole] != '.') return whole;
  const size_t fraction = Digits(text.substr(whole + 1));
  return whole + fraction == 0 ? 0 : whole + 1 + fraction;
}

std::optional<double> Exponent(std::string_view text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  constexpr size_t kDigitsMax = 3;
  const size_t digits = text.size() - sign;
  if (digits == 0 || digits > kDigitsMax || Digits(text.substr(sign)) != digits) return std::nullopt;
  return std::pow(10.0, std::strtol(std::string(text).c_str(), nullptr, 10));
}

std::optional<double> Factor(std::string_view suffix) {
  static constexpr std::pair<std::string_view, double> kSuffixes[] = {
      {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
      {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
      {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  for (const auto& [name, factor] : kSuffixes) {
    if (suffix == name) return factor;
  }
  if (suffix.starts_with('e') || suffix.starts_with('E')) return Exponent(suffix.substr(1));
  return std::nullopt;
}

}  // namespace

std::optional<double> ParseQuantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const size_t length = NumberLength(text);
  const std::optional<double> factor = Factor(text.substr(length));
  if (length == 0 || !factor) return std::nullopt;
  const double amount = std::strtod(std::string(text.substr(0, length)).c_str(), nullptr) * *factor;
  return std::isfinite(amount) ? std::optional(amount) : std::nullopt;
}

}  // namespace attune::kube
