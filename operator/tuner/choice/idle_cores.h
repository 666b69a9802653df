// Limits of CPU where the goal is time: fewer cores for the same pods make no job faster. They are given back when it
// is known that they are idle, not tried. Pure functions.
#pragma once

#include "operator/tuner/belief/view.h"

namespace attune::tuner {

// The candidate differs from the base only in that its pods have fewer cores.
bool OnlyStarves(const Evidence& evidence, int candidate, int base);

// The cheapest of the settings that differ from the present one in limits of CPU alone, leave room above the use, and
// are as fast as far as is known; the present one where there is none, or it was measured for less than kKnownWindows.
int WithoutIdleCores(const Evidence& evidence, const View& view, double windows_here);

}  // namespace attune::tuner
