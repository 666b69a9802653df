// How a tuner looks at its job before it decides: speed, efficiency, remaining time.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "operator/tuner/models/normal.h"
#include "operator/tuner/tuner.h"

namespace attune::tuner {
namespace {

constexpr double kShortHorizonWindows = 40;
constexpr double kWideInterval = 30;
constexpr double kTail = 0.05;
// Of a setting that asks more of a pod than any that ran, before a pod's memory is known: too much for a trial.
constexpr double kUnknownRisk = 0.25;
// No real curve is exactly one of ours: 90 % of jobs end within what holds for 95 % of our curves.
constexpr double kCurveTail = 0.025;

// Quantiles of weighted durations to 1 %, without sorting thousands of them in every decision.
class Durations {
 public:
  void Add(double seconds, double weight) {
    const double at = seconds > kLeast ? std::log(seconds / kLeast) * kPerFold : 0;
    weights_[std::min(static_cast<size_t>(at), kBins - 1)] += weight;
    total_ += weight;
  }
  double Quantile(double share) const {
    double sum = 0;
    size_t bin = 0;
    while (bin + 1 < kBins && (sum += weights_[bin]) < share * total_) ++bin;
    return bin == 0 ? 0 : kLeast * std::exp((static_cast<double>(bin) + 0.5) / kPerFold);
  }

 private:
  static constexpr double kLeast = 1e-3, kPerFold = 50;
  static constexpr size_t kBins = 2000;  // to 1e14 s
  std::array<double, kBins> weights_{};
  double total_ = 0;
};

}  // namespace

// The pace of effective progress that the best setting would have, under each hypothesis about efficiency.
void Tuner::FitBestPace(View& view) const {
  const EfficiencyModel& model = curve_.efficiency();
  view.best_pace.fill(std::numeric_limits<double>::infinity());
  std::array<double, kHypotheses> log_q{};
  double staleness = -1;
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (id != view.current && (!space_.MayPropose(id) || view.crash[i] > kCrashMax || memory_.Banned(space_, id)))
      continue;
    if (view.staleness[i] != staleness) {  // settings that differ in threads alone are neighbors and equally stale
      staleness = view.staleness[i];
      for (size_t h = 0; h < kHypotheses; ++h)
        log_q[h] = model.staleness_max() > 0 ? std::log(model.Efficiency(h, staleness)) : 0;
    }
    for (size_t h = 0; h < kHypotheses; ++h)
      view.best_pace[h] = std::min(view.best_pace[h], view.speed.mean(id) - log_q[h]);
  }
  for (double& pace : view.best_pace) pace = std::exp(pace);
}

void Tuner::FitEfficiency(View& view) const {
  const EfficiencyModel& model = curve_.efficiency();
  const bool learned = model.staleness_max() > 0;
  FitBestPace(view);
  if (progress_.CountsUpdates()) {
    view.curve.weights = model.prior();
  } else {
    view.curve = curve_.Fit(progress_.TargetLoss(), view.best_pace);
  }
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    // Settings that differ in threads alone are neighbors and equally stale.
    view.log_efficiency[i] = !learned ? 0
                             : i > 0 && view.staleness[i] == view.staleness[i - 1]
                                 ? view.log_efficiency[i - 1]
                                 : model.ExpectedLog(view.curve.weights, view.staleness[i]);
    view.score[i] = view.speed.mean(id) - view.log_efficiency[i];
  }
}

int Tuner::ChooseIncumbent(const View& view) const {
  int best = view.current;
  double least = std::numeric_limits<double>::infinity();
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (view.windows[i] <= 0 || (id != view.current && !space_.MayPropose(id))) continue;
    if (memory_.Banned(space_, id) || view.crash[i] > kCrashMax) continue;
    const double score = view.score[i] + 0.25 * std::sqrt(std::max(view.speed.variance(id), 0.0));
    if (score < least) {
      least = score;
      best = id;
    }
  }
  return best;
}

void Tuner::FitRemaining(View& view) const {
  const auto b = static_cast<size_t>(view.incumbent);
  const double per_update = std::exp(view.speed.mean(view.incumbent));
  const double most = progress_.SecondsToGo(view.now, per_update);
  const double plain = std::max(view.now, kShortHorizonWindows * job_.window_seconds);
  view.horizon = std::min(plain, most);
  const double z = 1.645 * std::hypot(std::sqrt(std::max(view.speed.variance(view.incumbent), 0.0)), 0.02);
  const Remaining at_most{progress_.SecondsToGo(view.now, per_update * std::exp(-z)), most,
                          progress_.SecondsToGo(view.now, per_update * std::exp(z))};
  if (progress_.CountsUpdates()) {
    if (blocks_.blocks().empty()) return;
    view.remaining = at_most;
    view.outlook = Outlook::kEstimated;
    if (job_.parts.loss_horizon) view.horizon = most;
    return;
  }
  view.outlook = view.curve.outlook;
  if (view.curve.remaining.empty()) return;
  const auto q = curve_.efficiency().Efficiencies(view.staleness[b]);
  const bool learned = curve_.efficiency().staleness_max() > 0;
  Durations durations;
  for (const RemainingSteps& one : view.curve.remaining)
    durations.Add(one.steps / std::max(learned ? q[one.hypothesis] : 1.0, 1e-3) * per_update, one.weight);
  const double mid = std::min(durations.Quantile(0.5), most);
  if (view.outlook == Outlook::kEstimated)
    view.remaining = Remaining{std::min(durations.Quantile(kCurveTail), at_most.low), mid,
                               std::min(durations.Quantile(1 - kCurveTail), at_most.high)};
  if (!job_.parts.loss_horizon) return;
  const double low = std::min(durations.Quantile(kTail), at_most.low);
  const double high = std::min(durations.Quantile(1 - kTail), at_most.high);
  const bool vague = view.outlook != Outlook::kEstimated || high > kWideInterval * std::max(low, job_.window_seconds);
  view.horizon = std::min(vague ? std::sqrt(std::max(mid, job_.window_seconds) * plain) : mid, most);
}

Tuner::View Tuner::Look(double now, int current) const {
  View view;
  view.now = now;
  view.current = current;
  const auto n = static_cast<size_t>(space_.size());
  view.staleness.resize(n);
  view.log_efficiency.resize(n);
  view.score.resize(n);
  view.toll.assign(n, 0);
  view.crash.resize(n);
  view.windows.assign(n, 0);
  for (int id = 0; id < space_.size(); ++id) {
    view.staleness[static_cast<size_t>(id)] = staleness_.Expected(id, space_.Value(id, "workers", 1));
    if (!job_.parts.crash_rule) continue;
    const bool beyond = memory_.BeyondEvidence(space_, id, current);
    view.crash[static_cast<size_t>(id)] = std::max(memory_.CrashProbability(space_, id), beyond ? kUnknownRisk : 0);
  }
  for (const Block& block : blocks_.blocks()) {
    if (block.source == 0) view.windows[static_cast<size_t>(block.setting)] += block.windows;
  }
  const double forgets = std::max(60 * job_.window_seconds, now / 2);
  view.speed = throughput_.Fit(blocks_, now, forgets, cpu_.Differences(space_, view.windows));
  view.speed.BoundMeans(cpu_.LeastLogSeconds(space_), view.windows);
  FitEfficiency(view);
  view.incumbent = ChooseIncumbent(view);
  FitRemaining(view);
  if (job_.objective.kind != ObjectiveKind::kTime) {
    WeighPrices(view);
    view.incumbent = ChooseIncumbent(view);
    FitRemaining(view);
  }
  return view;
}

Gain Tuner::GainOver(const View& view, int candidate, int base) const {
  return {view.score[static_cast<size_t>(base)] - view.score[static_cast<size_t>(candidate)],
          std::sqrt(view.speed.DifferenceVariance(candidate, base))};
}

// Both what is not known of speed and what is not known of efficiency count: beliefs about efficiency come and go with
// the noise of the loss, and a job that followed them would wander between settings that are about equal.
double Tuner::Certainty(const View& view, int candidate, int base) const {
  const auto c = static_cast<size_t>(candidate), b = static_cast<size_t>(base);
  const double faster = view.speed.mean(base) + view.toll[b] - view.speed.mean(candidate) - view.toll[c];
  const double deviation = std::max(std::sqrt(view.speed.DifferenceVariance(candidate, base)), 1e-9);
  const EfficiencyModel& model = curve_.efficiency();
  if (model.staleness_max() <= 0) return NormalCdf(faster / deviation);
  const auto there = model.Efficiencies(view.staleness[c]), here = model.Efficiencies(view.staleness[b]);
  double certainty = 0;
  for (size_t h = 0; h < kHypotheses; ++h)
    certainty += view.curve.weights[h] * NormalCdf((faster + std::log(there[h] / here[h])) / deviation);
  return certainty;
}

std::optional<SettingBelief> Tuner::BeliefAbout(const Setting& setting) const {
  if (!looked_ || static_cast<int>(setting.size()) != space_.knob_count()) return std::nullopt;
  const int id = space_.Nearest(setting);
  if (space_.setting(id) != setting) return std::nullopt;
  return BeliefOf(Look(looked_->first, looked_->second), id);
}

std::vector<SettingBelief> Tuner::Beliefs(size_t count) const {
  if (!looked_) return {};
  const View view = Look(looked_->first, looked_->second);
  std::vector<int> order;
  order.reserve(static_cast<size_t>(space_.size()));
  for (int id = 0; id < space_.size(); ++id) order.push_back(id);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return view.score[static_cast<size_t>(a)] < view.score[static_cast<size_t>(b)]; });
  std::vector<SettingBelief> beliefs;
  for (const int id : order) {
    if (beliefs.size() >= count) break;
    beliefs.push_back(BeliefOf(view, id));
  }
  return beliefs;
}

}  // namespace attune::tuner
