#include "cli/display/chart_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace attune::cli {
namespace {

void Widen(double value, bool& any, Bounds& bounds) {
  if (!std::isfinite(value)) return;
  bounds.low = any ? std::min(bounds.low, value) : value;
  bounds.high = any ? std::max(bounds.high, value) : value;
  any = true;
}

}  // namespace

std::string TickTimeText(double seconds) {
  int64_t left = std::llround(seconds);
  if (left <= 0) return "0";
  std::string text;
  for (const auto& [unit, name] : {std::pair<int64_t, const char*>(86400, "d"), {3600, "h"}, {60, "m"}, {1, "s"}}) {
    if (left >= unit) text += std::to_string(left / unit) + name;
    left %= unit;
  }
  return text;
}

double TimeTickStep(double span, int count) {
  for (const double step : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0}) {
    if (span / step <= count) return step;
  }
  return std::ceil(TickStep(span / 3600, count)) * 3600;
}

std::string Trimmed(std::string text) {
  const size_t point = text.find('.');
  if (point == std::string::npos) return text;
  const size_t end = std::min(text.find_first_not_of("0123456789", point + 1), text.size());
  size_t keep = end;
  while (keep > point + 1 && text[keep - 1] == '0') --keep;
  if (keep == point + 1) keep = point;
  return text.erase(keep, end - keep);
}

bool AllPositive(const Chart& chart) {
  return std::all_of(chart.series.begin(), chart.series.end(), [](const Series& series) {
    return std::none_of(series.points.begin(), series.points.end(), [](const auto& p) { return p.second <= 0; });
  });
}

bool FindBounds(const Chart& chart, Bounds& bounds) {
  bool any = false;
  for (const Series& series : chart.series) {
    std::vector<double> values;
    for (const auto& [x, y] : series.points) {
      if (std::isfinite(y)) values.push_back(y);
    }
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    const size_t cut = series.faint ? values.size() / 100 : 0;
    Widen(values[cut], any, bounds);
    Widen(values[values.size() - 1 - cut], any, bounds);
  }
  if (!any) return false;
  if (chart.from_zero) bounds.low = std::min(bounds.low, 0.0);
  if (chart.log_y) {  // room above and below in the same proportion
    const double room = std::max(std::pow(bounds.high / bounds.low, 0.06), 1.02);
    bounds = {bounds.low / room, bounds.high * room};
    return true;
  }
  double span = bounds.high - bounds.low;
  if (span <= 0) span = std::max(std::abs(bounds.high), 1.0);
  bounds.high += span * 0.06;
  if (!chart.from_zero) bounds.low -= span * 0.06;
  if (chart.whole) bounds = {0, std::max(2.0, std::ceil(bounds.high))};
  return true;
}

double TickStep(double span, int count) {
  if (!(span > 0) || count < 1) return 1;
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> Multiples(double step, double low, double high) {
  constexpr int kMost = 1000;  // no axis has as many ticks
  const double first = std::ceil(low / step);
  std::vector<double> multiples;
  for (int i = 0; i < kMost && (first + i) * step <= high; ++i) multiples.push_back((first + i) * step);
  return multiples;
}

}  // namespace attune::cli
