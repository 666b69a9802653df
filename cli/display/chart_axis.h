// How far the axes of a chart reach, and where their ticks are.
#pragma once

#include <string>
#include <vector>

#include "cli/display/chart.h"

namespace attune::cli {

struct Bounds {
  double low = 0, high = 1;
};

// Of y. A single wild value must not flatten the rest: lines reach from the 1st to the 99th percentile, with room
// above. False when there is nothing to draw.
bool FindBounds(const Chart& chart, Bounds& bounds);
bool AllPositive(const Chart& chart);
// Ticks of time are whole seconds, and round: "2m", "1h30m".
std::string TickTimeText(double seconds);
double TimeTickStep(double span, int count);
// Multiples of `step` from `low` to `high`. Each is computed by its number: a sum of steps drifts.
std::vector<double> Multiples(double step, double low, double high);
// Ticks are round: zeros behind the point say nothing ("10.0k", "1.50M").
std::string Trimmed(std::string text);

}  // namespace attune::cli
