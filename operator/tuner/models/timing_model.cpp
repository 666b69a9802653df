#include "operator/tuner/models/timing_model.h"

#include <algorithm>
#include <utility>

namespace attune::tuner {
namespace {

constexpr double kLeastWeight = 0.1;  // of a new reading: what a job does may change

void Smooth(double& value, std::optional<double> reading, double weight) {
  if (!reading) return;
  value = value < 0 ? *reading : value + weight * (*reading - value);
}

// How far a setting has come: what is read of it next is news only when this grows.
int StageOf(double windows) {
  return windows >= TimingModel::kManyWindows ? 2 : (windows >= TimingModel::kFirstWindows ? 1 : 0);
}

}  // namespace

void TimingModel::Absorb(int setting, std::optional<double> compute, std::optional<double> busy, double windows) {
  if (!compute && !busy) return;
  const auto known = std::find_if(readings_.begin(), readings_.end(),
                                  [&](const TimeReading& reading) { return reading.setting == setting; });
  TimeReading reading{.setting = setting};
  if (known != readings_.end()) {
    reading = *known;
    readings_.erase(known);
  } else if (readings_.size() >= kReadingsMax) {
    readings_.erase(readings_.begin());
  }
  reading.windows += windows;
  const double weight = std::max(kLeastWeight, std::min(1.0, windows / reading.windows));
  Smooth(reading.compute, compute, weight);
  Smooth(reading.busy, busy, weight);
  readings_.push_back(reading);
}

bool TimingModel::HasNews() const {
  if (times_ >= kTakenMax) return false;
  return std::any_of(readings_.begin(), readings_.end(), [&](const TimeReading& reading) {
    const auto shown = std::find_if(taken_.begin(), taken_.end(),
                                    [&](const TimeReading& each) { return each.setting == reading.setting; });
    return StageOf(reading.windows) > (shown == taken_.end() ? 0 : StageOf(shown->windows));
  });
}

const std::vector<TimeReading>& TimingModel::Take() {
  taken_ = readings_;
  std::stable_sort(taken_.begin(), taken_.end(),
                   [](const TimeReading& a, const TimeReading& b) { return a.windows > b.windows; });
  std::erase_if(taken_, [](const TimeReading& reading) { return StageOf(reading.windows) == 0; });
  if (taken_.size() > kShown) taken_.resize(kShown);
  ++times_;
  return taken_;
}

void TimingModel::Load(Saved saved) {
  readings_ = std::move(saved.readings);
  taken_ = std::move(saved.taken);
  times_ = saved.times;
}

}  // namespace attune::tuner
