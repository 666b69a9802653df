// The settings of a space, out of its ranges: all of them, or where these are too many as few as can be searched. Used
// by search_space.cpp alone.
#pragma once

#include <vector>

#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

struct Enumeration {
  std::vector<Setting> settings;
  bool thinned = false;  // some were left out
};
Enumeration Enumerate(const SpaceDescription& description);

bool IsWithinLimits(const SpaceDescription& description, const Setting& setting);
double Octave(int value);  // log2, -1 for 0

}  // namespace attune::tuner
