#include "operator/tuner/choice/start_design.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace attune::tuner {
namespace {

constexpr double kFirstLookLossMax = 0.1;  // a first look that is expected to cost more teaches too little for it
constexpr double kDesignCrashMax = 0.2;

// Where to look, as positions in the ranges in octaves.
struct DesignPoint {
  double servers, workers, threads;
};
constexpr std::array<DesignPoint, 1> kDesign = {DesignPoint{0.667, 0.5, 0.5}};

// Left as they are by a first look around: the pace changes what training is, and what limits do is read from the use
// of CPU and memory without turning them.
bool StaysAtFirst(const SearchSpace& space, int knob) {
  return space.knob_name(knob) == "slack" || space.cost(knob) == CostClass::kResize;
}

// A first look that leaves a knob as it is says nothing of it: where it turns one, it turns them all.
void TurnEveryKnob(const SearchSpace& space, const Setting& current, Setting& wanted) {
  if (wanted == current) return;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const KnobRange& range = space.description().knobs[k];
    if (wanted[k] != current[k] || range.low == range.high || StaysAtFirst(space, static_cast<int>(k))) continue;
    wanted[k] = current[k] > range.low ? std::max(range.low, current[k] / 2) : std::min(range.high, current[k] * 2);
  }
}

Setting MediumSize(const SearchSpace& space, const View& view, const DesignPoint& point) {
  Setting medium;
  for (int k = 0; k < space.knob_count(); ++k) {
    const KnobRange& range = space.description().knobs[static_cast<size_t>(k)];
    const std::string& name = range.name;
    if (StaysAtFirst(space, k)) {
      medium.push_back(space.setting(view.current)[static_cast<size_t>(k)]);
      continue;
    }
    const double at = name == "servers"   ? point.servers
                      : name == "workers" ? point.workers
                      : name == "threads" ? point.threads
                                          : 0.5;
    const double low = std::max(range.low, 1), high = std::max(range.high, 1);
    medium.push_back(static_cast<int>(std::lround(low * std::pow(high / low, at))));
  }
  return medium;
}

// The setting of medium size, with every knob turned. Where that is expected to be slower than now, or to ask more of a
// pod than is known to fit, the nearest to it that is not; a knob that it leaves as it is costs an octave. None: the
// present one.
int FirstLook(const Evidence& evidence, const View& view, const Setting& medium) {
  const SearchSpace& space = evidence.space();
  const Setting& current = space.setting(view.current);
  Setting turned = medium;
  TurnEveryKnob(space, current, turned);
  const int wanted = space.Nearest(turned);
  const bool risky = view.crash[static_cast<size_t>(wanted)] >= kDesignCrashMax;
  if (wanted == view.current || (!risky && IsBearable(view, wanted))) return wanted;
  const int center = space.Nearest(medium);
  int best = view.current;
  double least = std::numeric_limits<double>::infinity();
  for (int id = 0; id < space.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (id == view.current || !space.MayPropose(id) || evidence.IsBanned(id)) continue;
    if (view.crash[i] >= kDesignCrashMax || !IsBearable(view, id)) continue;
    double distance = 0;
    for (int k = 0; k < space.knob_count(); ++k) {
      const bool stays = space.setting(id)[static_cast<size_t>(k)] == current[static_cast<size_t>(k)];
      if (!stays && StaysAtFirst(space, k)) distance = std::numeric_limits<double>::infinity();
      distance += std::abs(space.Coordinate(id, k) - space.Coordinate(center, k)) + (stays ? 1 : 0);
    }
    if (distance >= least) continue;
    least = distance;
    best = id;
  }
  return best;
}

}  // namespace

bool IsBearable(const View& view, int setting) {
  return view.GainOver(setting, view.current).mean >= std::log1p(-kFirstLookLossMax);
}

std::optional<int> StartDesign::Next(const Evidence& evidence, const View& view) {
  if (!evidence.job().parts.start_design || evidence.KnowsTimes()) return std::nullopt;
  while (taken_ < kDesign.size()) {
    int id = FirstLook(evidence, view, MediumSize(evidence.space(), view, kDesign[taken_++]));
    // Where pods take longer than windows, a setting of medium size is no place worth waiting for.
    if (evidence.job().costs.pods > evidence.job().window_seconds && evidence.CostOf(view.current, id).lead > 0)
      id = view.current;
    const auto i = static_cast<size_t>(id);
    const bool risky = id != view.current && view.crash[i] >= kDesignCrashMax;
    if (view.windows[i] > 0 || risky || evidence.IsBanned(id)) continue;
    return id;
  }
  return std::nullopt;
}

}  // namespace attune::tuner
