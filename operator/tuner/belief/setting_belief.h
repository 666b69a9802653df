// What is believed of single settings, in the figures that people and programs are shown. Pure functions of a view.
#pragma once

#include <vector>

#include "operator/tuner/belief/view.h"

namespace attune::tuner {

// One row of `attune explain --model`.
struct SettingBelief {
  Setting setting;
  double seconds_per_update = 0;
  Gain gain;  // progress per second against the incumbent
  double efficiency = 1;
  double crash_probability = 0;
  double windows = 0;         // measured
  double price_per_hour = 0;  // by the objective's prices
  // Against the incumbent, as ratios: time to the goal from here, and what it costs.
  double relative_time = 1, relative_cost = 1;
};

SettingBelief BeliefOf(const Evidence& evidence, const View& view, int setting);
// The best `count` settings, best first.
std::vector<SettingBelief> BestBeliefs(const Evidence& evidence, const View& view, size_t count);
// Those that no other one beats in both time and cost, fastest first, at most `count`.
std::vector<SettingBelief> Tradeoffs(const Evidence& evidence, const View& view, size_t count);

}  // namespace attune::tuner
