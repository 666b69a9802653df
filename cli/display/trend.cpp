#include "cli/display/trend.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::cli {

void Trend::Add(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  sum_ += *value;
  if (++looks_ < looks_per_value_) return;
  values_.push_back(sum_ / static_cast<double>(looks_));
  sum_ = 0;
  looks_ = 0;
  if (values_.size() < kValuesMax) return;
  for (size_t i = 0; i < values_.size() / 2; ++i) values_[i] = (values_[2 * i] + values_[2 * i + 1]) / 2;
  values_.resize(values_.size() / 2);
  looks_per_value_ *= 2;
}

std::string Sparkline(const std::vector<double>& values, int columns, bool unicode) {
  static constexpr std::array<const char*, 8> kBlocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                         "\u2585", "\u2586", "\u2587", "\u2588"};
  static constexpr std::array<const char*, 6> kPlain = {"_", ".", "-", "=", "*", "#"};
  if (values.size() < 2 || columns < 2) return "";
  const size_t count = std::min(values.size(), static_cast<size_t>(columns));
  std::vector<double> shown;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    double sum = 0;
    for (size_t j = begin; j < end; ++j) sum += values[j];
    shown.push_back(sum / static_cast<double>(end - begin));
  }
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  const double least = *low, span = *high - *low;
  const size_t levels = unicode ? kBlocks.size() : kPlain.size();
  std::string line;
  for (const double value : shown) {
    const double share = span > 0 ? (value - least) / span : 0.5;
    const size_t level = std::min(levels - 1, static_cast<size_t>(share * static_cast<double>(levels)));
    line += unicode ? kBlocks[level] : kPlain[level];
  }
  return line;
}

}  // namespace attune::cli
