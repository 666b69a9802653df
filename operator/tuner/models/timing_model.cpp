#include "operator/tuner/models/timing_model.h"

#include <algorithm>
#include <utility>

#include "operator/tuner/models/recent_readings.h"

namespace attune::tuner {
namespace {

constexpr double kLeastWeight = 0.1;  // of a new reading: what a job does may change

// How far a setting has come: what is read of it next is news only when this grows.
int StageOf(double windows) {
  return windows >= TimingModel::kManyWindows ? 2 : (windows >= TimingModel::kFirstWindows ? 1 : 0);
}

}  // namespace

void TimingModel::Absorb(int setting, std::optional<double> compute, std::optional<double> busy, double windows) {
  if (!compute && !busy) return;
  TimeReading& reading = Renew(readings_, setting, windows, kReadingsMax);
  const double weight = std::max(kLeastWeight, std::min(1.0, windows / reading.windows));
  Smooth(reading.compute, compute, weight);
  Smooth(reading.busy, busy, weight);
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
