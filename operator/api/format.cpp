#include "operator/api/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace attune::api {
namespace {

template <class... Values>
std::string Print(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Three significant digits of a value below 1000.
std::string Short(double value) { return Print(value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value); }

}  // namespace

std::string FormatPercent(double fraction) {
  if (!std::isfinite(fraction)) return "";
  return Print("%d%%", static_cast<int>(std::floor(std::clamp(fraction, 0.0, 1.0) * 100 + 1e-9)));
}

std::string FormatFigure(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "not a number";
  if (size != 0 && (size < 1e-4 || size >= 1e6)) return Print("%.3e", value);
  const int digits = size < 1 ? (size < 0.1 && size > 0 ? 5 : 4) : size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
  return Print("%.*f", digits, value);
}

std::string FormatCount(double count) {
  if (!std::isfinite(count)) return "?";
  if (count < 999.5) return Print("%.0f", count);
  constexpr std::array<const char*, 4> kUnits{"k", "M", "G", "T"};
  size_t unit = 0;
  double scaled = count / 1000;
  for (; scaled >= 999.5 && unit + 1 < kUnits.size(); ++unit) scaled /= 1000;
  return Short(scaled) + kUnits[unit];
}

std::string FormatRate(double per_second, const std::string& unit) {
  return FormatCount(per_second) + (unit.empty() ? "/s" : " " + unit + "/s");
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  if (seconds < 9.95) return Print("%.1fs", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto minutes = whole / 60, hours = whole / 3600, days = whole / 86400;
  if (whole < 60) return Print("%ds", static_cast<int>(whole));
  if (whole < 3600) return Print("%dm%02ds", static_cast<int>(minutes), static_cast<int>(whole % 60));
  if (days < 2) return Print("%dh%02dm", static_cast<int>(hours), static_cast<int>(minutes % 60));
  return Print("%dd%dh", static_cast<int>(days), static_cast<int>(hours % 24));
}

std::string FormatAge(double seconds) {
  const double whole = std::max(0.0, std::floor(seconds));
  return whole < 10 ? Print("%ds", static_cast<int>(whole)) : FormatSeconds(whole);
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 4> kUnits{" KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  double scaled = static_cast<double>(bytes) / 1024;
  for (; scaled >= 999.5 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  return Short(scaled) + kUnits[unit];
}

}  // namespace attune::api
