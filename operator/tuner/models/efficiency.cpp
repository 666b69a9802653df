#include "operator/tuner/models/efficiency.h"

#include <algorithm>
#include <cmath>

namespace attune::tuner {
namespace {

constexpr std::array<double, kSlopes> kSlope = {0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16};
constexpr std::array<double, kSlopes> kSlopePrior = {0.32, 0.16, 0.16, 0.14, 0.10, 0.08, 0.04};
constexpr std::array<double, kCollapses> kCollapseAt = {0.2, 0.27, 0.36, 0.48, 0.64, 0.85};  // of the largest staleness
constexpr double kCollapsePrior = 0.06;                                                      // all of them together
constexpr double kLeft = 0.06;  // of progress beyond a collapse
constexpr double kHalf = 0.5;   // an efficiency this much below what small staleness gives is a collapse

}  // namespace

EfficiencyModel::EfficiencyModel(double staleness_max, bool with_collapse) : staleness_max_(staleness_max) {
  if (staleness_max <= 0) {
    prior_[0] = 1;
    return;
  }
  const double collapse = with_collapse ? kCollapsePrior : 0;
  for (size_t h = 0; h < kSlopes; ++h) prior_[h] = kSlopePrior[h] * (1 - collapse);
  for (size_t h = 0; h < kCollapses; ++h) prior_[kSlopes + h] = collapse / kCollapses;
}

double EfficiencyModel::Efficiency(size_t hypothesis, double staleness) const {
  const double z = std::max(staleness, 0.0);
  if (hypothesis < kSlopes) return 1 / (1 + kSlope[hypothesis] * z);
  const double at = kCollapseAt[hypothesis - kSlopes] * std::max(staleness_max_, 1e-9);
  const double ratio = std::min(z / at, 3.0);
  const double fourth = ratio * ratio * ratio * ratio;
  return (kLeft + (1 - kLeft) / (1 + fourth * fourth)) / (1 + 0.01 * z);
}

std::array<double, kHypotheses> EfficiencyModel::Efficiencies(double staleness) const {
  std::array<double, kHypotheses> all{};
  for (size_t h = 0; h < kHypotheses; ++h) all[h] = Efficiency(h, staleness);
  return all;
}

double EfficiencyModel::CollapseProbability(const HypothesisWeights& weights, double staleness) const {
  double probability = 0;
  for (size_t h = kSlopes; h < kHypotheses; ++h) {
    if (Efficiency(h, staleness) < kHalf) probability += weights[h];
  }
  return probability;
}

double EfficiencyModel::ExpectedLog(const HypothesisWeights& weights, double staleness) const {
  double slopes = 0, collapses = 0, collapsed = 0;
  for (size_t h = 0; h < kSlopes; ++h) slopes += weights[h] * std::log(Efficiency(h, staleness));
  for (size_t h = kSlopes; h < kHypotheses; ++h) collapsed += weights[h];
  for (size_t h = kSlopes; h < kHypotheses; ++h)
    collapses += weights[h] * std::max(std::log(Efficiency(h, staleness)), -1 - 5 * collapsed);
  return slopes + collapses;
}

}  // namespace attune::tuner
