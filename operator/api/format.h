// Figures for people: short, stable in width, without locale.
#pragma once

#include <cstdint>
#include <string>

namespace attune::api {

std::string FormatPercent(double fraction);                          // "42%"; rounds down, so 100% means done
std::string FormatFigure(double value);                              // four significant digits: "3.117", "0.02134"
std::string FormatCount(double count);                               // "950", "18.1k", "181k", "1.8M"
std::string FormatRate(double per_second, const std::string& unit);  // "181k words/s"; unit "" reads "181k/s"
std::string FormatSeconds(double seconds);                           // "0.8s", "42s", "1m20s", "2h05m", "3d4h"
std::string FormatAge(double seconds);                               // whole seconds: "0s", "7s", then as above
std::string FormatBytes(uint64_t bytes);                             // "512 B", "84 MiB"

}  // namespace attune::api
