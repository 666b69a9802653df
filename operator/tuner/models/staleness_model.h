// How stale rows are at a setting, in updates by others between a pull and its push. Where a job ran it is what was
// measured there, smoothed; elsewhere it rises with the number of other workers, by as much as was measured so far.
// Under BSP it is the number of other workers, whatever is reported. Bounded; a plain value.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/sync_mode.h"

namespace attune::tuner {

class StalenessModel {
 public:
  explicit StalenessModel(SyncMode mode) : is_bsp_(mode == SyncMode::Bsp()) {}

  void Absorb(int setting, double workers, std::optional<double> measured);

  double Expected(int setting, double workers) const;
  // Of a window in which it may have been measured.
  double Of(int setting, double workers, std::optional<double> measured) const;

  static constexpr size_t kSettingsMax = 45;

  struct Dump {
    double sum = 0, base = 0;
    std::vector<std::pair<int, double>> settings;
  };
  Dump Save() const { return {sum_, base_, settings_}; }
  void Load(Dump dump);

 private:
  bool is_bsp_;
  double sum_ = 0, base_ = 0;                     // regression on the other workers, through 0
  std::vector<std::pair<int, double>> settings_;  // where it was measured
};

}  // namespace attune::tuner
