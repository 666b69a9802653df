#include "operator/tuner/choice/efficiency_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "operator/tuner/models/normal.h"

namespace attune::tuner {
namespace {

constexpr double kMatters = 0.25;         // of time saved: what makes a hypothesis worth testing
constexpr double kOtherStaleness = 0.75;  // ratio to the incumbent's, or its inverse, from where on a probe can teach
constexpr double kFirstWindows = 6;       // of the loss, before the first probe
constexpr double kMoveOdds = 0.18;        // of the hypotheses that matter, at which the job moves
constexpr double kSlopeNoise = 6;  // variance of a slope over n windows: this, times a window's, over n cubed; 3 with
                                   // the level before it known exactly, 12 with nothing known
constexpr double kBeyond = 4;      // of the limit: a job that a collapse keeps from its goal ends there without it
constexpr std::array<double, 10> kLengths = {3, 4, 6, 8, 12, 16, 24, 36, 54, 80};  // windows

struct Doubts {
  std::array<double, kHypotheses> saving{};  // seconds, times probability
  std::array<double, kHypotheses> weight{};  // probability; 0: this one is no doubt
  double total_saving = 0, probability = 0;
};

// The fastest setting of every staleness that is not the incumbent's; rather where speed is known.
std::vector<int> ProbeSettings(const Evidence& evidence, const View& view) {
  const SearchSpace& space = evidence.space();
  constexpr double kUnknown = 0.1;
  const double staleness = view.staleness[static_cast<size_t>(view.incumbent)];
  std::vector<int> best;
  const auto score = [&](int id) {
    return view.speed.mean(id) + view.toll[static_cast<size_t>(id)] +
           (view.windows[static_cast<size_t>(id)] > 0 ? 0 : kUnknown);
  };
  for (int id = 0; id < space.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (!space.MayPropose(id) || view.crash[i] > kTrialCrashMax || evidence.IsBanned(id)) continue;
    if (std::min(view.staleness[i], staleness) > kOtherStaleness * std::max(view.staleness[i], staleness)) continue;
    const auto known = std::find_if(best.begin(), best.end(), [&](int other) {
      return space.Value(other, "workers", 1) == space.Value(id, "workers", 1);
    });
    if (known == best.end()) {
      best.push_back(id);
    } else if (score(id) < score(*known)) {
      *known = id;
    }
  }
  return best;
}

// The hypotheses under which a setting is much faster than the incumbent: their probability, and the seconds that each
// of them would save there.
Doubts FindDoubts(const Evidence& evidence, const View& view, int setting) {
  Doubts doubts;
  const EfficiencyModel& model = evidence.curve().efficiency();
  const auto here = model.Efficiencies(view.staleness[static_cast<size_t>(view.incumbent)]);
  const auto there = model.Efficiencies(view.staleness[static_cast<size_t>(setting)]);
  const double per_update = std::exp(view.speed.mean(view.incumbent));
  const double most = evidence.progress().SecondsToGo(view.now, per_update) / per_update;
  const double toll = view.toll[static_cast<size_t>(setting)] - view.toll[static_cast<size_t>(view.incumbent)];
  std::array<double, kHypotheses> saved{};  // seconds for each effective step
  for (size_t h = 0; h < kHypotheses; ++h) {
    const double pace = per_update / here[h], other = std::exp(view.speed.mean(setting) + toll) / there[h];
    if (other >= (1 - kMatters) * pace) continue;
    saved[h] = pace - other;
    doubts.weight[h] = view.curve.weights[h];
    doubts.probability += view.curve.weights[h];
  }
  for (const RemainingSteps& one : view.curve.remaining) {
    const size_t h = one.hypothesis;
    doubts.saving[h] += one.weight * std::min(one.steps, kBeyond * most * here[h]) * saved[h];
  }
  for (const double saving : doubts.saving) doubts.total_saving += saving;
  return doubts;
}

// Expected saving of a probe of some windows: each doubt's, times the chance that the loss there falls so much faster
// than without it that the job moves.
double WorthOfProbe(const Evidence& evidence, const View& view, const Doubts& doubts, int setting, double windows) {
  constexpr double kConvincing = 1;  // log likelihood ratio, at least
  const auto q = evidence.curve().efficiency().Efficiencies(view.staleness[static_cast<size_t>(setting)]);
  const double updates = evidence.job().window_seconds / std::exp(view.speed.mean(setting));
  double others = 0, mean = 0, square = 0;  // fall of the loss in a window there, if no doubt is true
  for (size_t h = 0; h < kHypotheses; ++h) {
    if (doubts.weight[h] > 0) continue;
    const double weight = view.curve.weights[h], steps = updates * q[h];
    others += weight;
    mean += weight * steps * view.curve.fall[h].mean;
    square += weight * steps * steps * view.curve.fall[h].square;
  }
  if (others > 0) {
    mean /= others;
    square /= others;
  }
  const double noise = evidence.curve().noise();
  const double variance =
      kSlopeNoise * noise * noise / (windows * windows * windows) + std::max(0.0, square - mean * mean);
  const double odds = doubts.probability / std::max(1 - doubts.probability, 1e-9);
  const double needed = std::max(kConvincing, std::log(kMoveOdds / odds));
  double worth = 0;
  for (size_t h = 0; h < kHypotheses; ++h) {
    if (doubts.saving[h] <= 0) continue;
    const double fall = updates * q[h] * std::sqrt(view.curve.fall[h].square);
    const double z = (fall - mean) / std::sqrt(variance);  // deviations apart
    if (z > 0) worth += doubts.saving[h] * NormalCdf(z / 2 - needed / z);
  }
  return worth;
}

// Seconds lost by one window there.
double CostOfProbeWindow(const Evidence& evidence, const Gain& gain) {
  constexpr double kLeast = 0.02;  // what is lost by not deciding
  return evidence.job().window_seconds * (1 - std::exp(std::min(-kLeast, gain.mean)));
}

// The probe worth most, and its number of windows.
std::pair<Proposal, double> PlanProbe(const Evidence& evidence, const View& view) {
  Proposal best;
  double planned = 0;
  const double longest = std::max(kFirstWindows, 0.5 * view.now / evidence.job().window_seconds);
  for (const int setting : ProbeSettings(evidence, view)) {
    const Doubts doubts = FindDoubts(evidence, view, setting);
    if (!(doubts.total_saving > 0)) continue;
    const Gain gain = view.GainOver(setting, view.incumbent);
    const ChangeCost there = evidence.CostOf(view.current, setting), back = evidence.CostOf(setting, view.incumbent);
    for (const double windows : kLengths) {
      if (windows > longest) break;
      const double cost = there.lost + back.lost + windows * CostOfProbeWindow(evidence, gain);
      const double value = WorthOfProbe(evidence, view, doubts, setting, windows) - kCaution * cost;
      if (value <= best.value) continue;
      best = {.setting = setting, .value = value, .saving = doubts.total_saving, .cost = cost, .gain = gain};
      planned = windows;
    }
  }
  return {best, planned};
}

}  // namespace

bool EfficiencyProbe::MayBegin(const Evidence& evidence, const View& view) const {
  // A curve's walk has octaves of updates as its time: what one probe could not show, the next can when the job is
  // twice as old, or has moved.
  const double staleness = view.staleness[static_cast<size_t>(view.incumbent)];
  const bool older = windows_since_ >= 0.5 * view.now / evidence.job().window_seconds;
  const bool moved = std::min(staleness, staleness_) < kOtherStaleness * std::max(staleness, staleness_);
  return windows_since_ >= kFirstWindows && (older || moved);
}

std::optional<Proposal> EfficiencyProbe::Next(const Evidence& evidence, const View& view) {
  if (!evidence.job().parts.probe || evidence.curve().efficiency().staleness_max() <= 0) return std::nullopt;
  if (setting_ >= 0) return Continue(evidence, view);
  if (!MayBegin(evidence, view)) return std::nullopt;
  const auto [probe, windows] = PlanProbe(evidence, view);
  if (probe.value <= 0) return std::nullopt;
  setting_ = probe.setting;
  windows_ = 0;
  planned_ = windows;
  staleness_ = view.staleness[static_cast<size_t>(view.incumbent)];
  return probe;
}

// It is carried through: the horizon is as noisy as the loss. Only a doubt that is gone ends it earlier.
std::optional<Proposal> EfficiencyProbe::Continue(const Evidence& evidence, const View& view) {
  Proposal probe{.setting = setting_};
  probe.gain = view.GainOver(setting_, view.incumbent);
  probe.saving = FindDoubts(evidence, view, setting_).total_saving;
  probe.cost = (planned_ - windows_) * CostOfProbeWindow(evidence, probe.gain);
  if (windows_ < planned_ - 0.5 && probe.saving > probe.cost && view.incumbent != setting_ &&
      !evidence.IsBanned(setting_))
    return probe;
  setting_ = -1;
  windows_since_ = 0;
  return std::nullopt;
}

void EfficiencyProbe::Absorb(int setting, double windows, bool with_loss) {
  if (setting == setting_) windows_ += windows;
  if (with_loss) windows_since_ += windows;
}

void EfficiencyProbe::Load(const Dump& dump) {
  setting_ = dump.setting;
  windows_ = dump.windows;
  windows_since_ = dump.windows_since;
  planned_ = dump.planned;
  staleness_ = dump.staleness;
}

}  // namespace attune::tuner
