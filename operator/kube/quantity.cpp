#include "operator/kube/quantity.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

namespace attune::kube {

std::optional<double> ParseQuantity(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view suffix(end);
  static constexpr std::pair<std::string_view, double> kSuffixes[] = {
      {"", 1},     {"m", 1e-3},    {"k", 1e3},        {"M", 1e6},           {"G", 1e9},
      {"T", 1e12}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}};
  for (const auto& [name, factor] : kSuffixes) {
    if (suffix == name) return number * factor;
  }
  return std::nullopt;
}

}  // namespace attune::kube
