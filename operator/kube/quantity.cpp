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

std::optional<int64_t> WholeUnits(std::string_view text, double per_one) {
  constexpr double kUnitsMax = 0x1p53;
  constexpr double kRounding = 1e-6;  // of the multiplication: 0.1 * 1000 is a little above 100
  const std::optional<double> amount = ParseQuantity(text);
  if (!amount || *amount * per_one > kUnitsMax) return std::nullopt;
  return static_cast<int64_t>(std::ceil(*amount * per_one - kRounding));
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

std::optional<int64_t> ParseMillicores(std::string_view text) { return WholeUnits(text, 1000); }

std::optional<int64_t> ParseByteCount(std::string_view text) { return WholeUnits(text, 1); }

std::string FormatMillicores(int64_t millicores) {
  return millicores % 1000 == 0 ? std::to_string(millicores / 1000) : std::to_string(millicores) + "m";
}

std::string FormatByteCount(int64_t bytes) {
  static constexpr std::pair<int64_t, const char*> kUnits[] = {
      {1LL << 40, "Ti"}, {1LL << 30, "Gi"}, {1LL << 20, "Mi"}, {1LL << 10, "Ki"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes != 0 && bytes % unit == 0) return std::to_string(bytes / unit) + name;
  }
  return std::to_string(bytes);
}

}  // namespace attune::kube
