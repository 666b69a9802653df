#include "operator/tuner/models/staleness_model.h"

#include <algorithm>

namespace attune::tuner {

void StalenessModel::Absorb(int setting, double workers, std::optional<double> measured) {
  constexpr double kNewest = 0.3;  // weight of the last window against those before it
  if (!measured || is_bsp_) return;
  sum_ += *measured * (workers - 1);
  base_ += (workers - 1) * (workers - 1);
  const auto known =
      std::find_if(settings_.begin(), settings_.end(), [&](const auto& pair) { return pair.first == setting; });
  if (known != settings_.end()) {
    known->second += kNewest * (*measured - known->second);
  } else if (settings_.size() < kSettingsMax) {
    settings_.emplace_back(setting, *measured);
  }
}

double StalenessModel::Expected(int setting, double workers) const {
  for (const auto& [known, staleness] : settings_) {
    if (known == setting) return staleness;
  }
  const double others = workers - 1;
  if (is_bsp_) return others;
  constexpr double kPrior = 4;  // weight of staleness = workers - 1
  return (sum_ + kPrior) / (base_ + kPrior) * others;
}

double StalenessModel::Of(int setting, double workers, std::optional<double> measured) const {
  return is_bsp_ ? workers - 1 : measured.value_or(Expected(setting, workers));
}

void StalenessModel::Load(Dump dump) {
  sum_ = dump.sum;
  base_ = dump.base;
  settings_ = std::move(dump.settings);
}

}  // namespace attune::tuner
