#include "operator/tuner/belief/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "operator/tuner/models/normal.h"

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

// Makes a view, model by model: each step needs what those before it have left in the view.
class Fitter {
 public:
  Fitter(const Evidence& evidence, double now, int current);
  View Fit() &&;

 private:
  void FitRisk();
  void FitSpeed();
  void FitEfficiency();
  void FitRemaining();
  void WeighPrices();
  std::array<double, kHypotheses> BestPace() const;
  int ChooseIncumbent() const;

  const Evidence& evidence_;
  const SearchSpace& space_;
  const double window_;  // seconds
  View view_;
};

Fitter::Fitter(const Evidence& evidence, double now, int current)
    : evidence_(evidence), space_(evidence.space()), window_(evidence.job().window_seconds) {
  view_.now = now;
  view_.current = current;
  const auto n = static_cast<size_t>(space_.size());
  for (std::vector<double>* values :
       {&view_.staleness, &view_.log_efficiency, &view_.score, &view_.crash, &view_.windows, &view_.toll})
    values->assign(n, 0);
}

View Fitter::Fit() && {
  FitRisk();
  FitSpeed();
  FitEfficiency();
  view_.incumbent = ChooseIncumbent();
  FitRemaining();
  if (evidence_.job().objective.kind != ObjectiveKind::kTime) {
    WeighPrices();
    view_.incumbent = ChooseIncumbent();
    FitRemaining();
  }
  return std::move(view_);
}

void Fitter::FitRisk() {
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    view_.staleness[i] = evidence_.ExpectedStaleness(id);
    if (!evidence_.job().parts.crash_rule) continue;
    const bool beyond = evidence_.memory().BeyondEvidence(space_, id, view_.current);
    view_.crash[i] = std::max(evidence_.memory().CrashProbability(space_, id), beyond ? kUnknownRisk : 0);
  }
}

void Fitter::FitSpeed() {
  for (const Block& block : evidence_.blocks().blocks()) {
    if (block.source == 0) view_.windows[static_cast<size_t>(block.setting)] += block.windows;
  }
  const double forgets = std::max(60 * window_, view_.now / 2);
  const CpuModel& cpu = evidence_.cpu();
  view_.speed =
      evidence_.throughput().Fit(evidence_.blocks(), view_.now, forgets, cpu.Differences(space_, view_.windows));
  view_.speed.BoundMeans(cpu.LeastLogSeconds(space_), view_.windows);
}

// The pace of effective progress that the best setting would have, under each hypothesis about efficiency.
std::array<double, kHypotheses> Fitter::BestPace() const {
  const EfficiencyModel& model = evidence_.curve().efficiency();
  std::array<double, kHypotheses> best{};
  best.fill(std::numeric_limits<double>::infinity());
  std::array<double, kHypotheses> log_q{};
  double staleness = -1;
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (id != view_.current && (!space_.MayPropose(id) || view_.crash[i] > kCrashMax || evidence_.IsBanned(id)))
      continue;
    if (view_.staleness[i] != staleness) {  // settings that differ in threads alone are neighbors and equally stale
      staleness = view_.staleness[i];
      for (size_t h = 0; h < kHypotheses; ++h)
        log_q[h] = model.staleness_max() > 0 ? std::log(model.Efficiency(h, staleness)) : 0;
    }
    for (size_t h = 0; h < kHypotheses; ++h) best[h] = std::min(best[h], view_.speed.mean(id) - log_q[h]);
  }
  for (double& pace : best) pace = std::exp(pace);
  return best;
}

void Fitter::FitEfficiency() {
  const EfficiencyModel& model = evidence_.curve().efficiency();
  const bool learned = model.staleness_max() > 0;
  if (evidence_.progress().CountsUpdates()) {
    view_.curve.weights = model.prior();
  } else {
    view_.curve = evidence_.curve().Fit(evidence_.progress().TargetLoss(), BestPace());
  }
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    // Settings that differ in threads alone are neighbors and equally stale.
    view_.log_efficiency[i] = !learned ? 0
                              : i > 0 && view_.staleness[i] == view_.staleness[i - 1]
                                  ? view_.log_efficiency[i - 1]
                                  : model.ExpectedLog(view_.curve.weights, view_.staleness[i]);
    view_.score[i] = view_.speed.mean(id) - view_.log_efficiency[i];
  }
}

int Fitter::ChooseIncumbent() const {
  int best = view_.current;
  double least = std::numeric_limits<double>::infinity();
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (view_.windows[i] <= 0 || (id != view_.current && !space_.MayPropose(id))) continue;
    if (evidence_.IsBanned(id) || view_.crash[i] > kCrashMax) continue;
    const double score = view_.score[i] + 0.25 * std::sqrt(std::max(view_.speed.variance(id), 0.0));
    if (score < least) {
      least = score;
      best = id;
    }
  }
  return best;
}

void Fitter::FitRemaining() {
  const auto b = static_cast<size_t>(view_.incumbent);
  const double per_update = std::exp(view_.speed.mean(view_.incumbent));
  const double most = evidence_.progress().SecondsToGo(view_.now, per_update);
  const double plain = std::max(view_.now, kShortHorizonWindows * window_);
  view_.horizon = std::min(plain, most);
  const double z = 1.645 * std::hypot(std::sqrt(std::max(view_.speed.variance(view_.incumbent), 0.0)), 0.02);
  const Remaining at_most{evidence_.progress().SecondsToGo(view_.now, per_update * std::exp(-z)), most,
                          evidence_.progress().SecondsToGo(view_.now, per_update * std::exp(z))};
  if (evidence_.progress().CountsUpdates()) {
    if (evidence_.blocks().blocks().empty()) return;
    view_.remaining = at_most;
    view_.outlook = Outlook::kEstimated;
    if (evidence_.job().parts.loss_horizon) view_.horizon = most;
    return;
  }
  view_.outlook = view_.curve.outlook;
  if (view_.curve.remaining.empty()) return;
  const auto q = evidence_.curve().efficiency().Efficiencies(view_.staleness[b]);
  const bool learned = evidence_.curve().efficiency().staleness_max() > 0;
  Durations durations;
  for (const RemainingSteps& one : view_.curve.remaining)
    durations.Add(one.steps / std::max(learned ? q[one.hypothesis] : 1.0, 1e-3) * per_update, one.weight);
  const double mid = std::min(durations.Quantile(0.5), most);
  if (view_.outlook == Outlook::kEstimated)
    view_.remaining = Remaining{std::min(durations.Quantile(kCurveTail), at_most.low), mid,
                                std::min(durations.Quantile(1 - kCurveTail), at_most.high)};
  if (!evidence_.job().parts.loss_horizon) return;
  const double low = std::min(durations.Quantile(kTail), at_most.low);
  const double high = std::min(durations.Quantile(1 - kTail), at_most.high);
  const bool vague = view_.outlook != Outlook::kEstimated || high > kWideInterval * std::max(low, window_);
  view_.horizon = std::min(vague ? std::sqrt(std::max(mid, window_) * plain) : mid, most);
}

// At the least cost a second counts by its price. Under a budget seconds count alike where what is left of it will do,
// and beyond it the more, the further.
void Fitter::WeighPrices() {
  constexpr double kBeyondBudget = 4, kSecondsPerHour = 3600;
  const auto base = static_cast<size_t>(view_.incumbent);
  const double seconds = view_.remaining ? view_.remaining->mid : view_.horizon, score = view_.score[base];
  const double left = std::max(evidence_.job().objective.budget - evidence_.spent(), 1e-9);
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    const double price = evidence_.pricing().PerHour(id);
    if (evidence_.job().objective.kind == ObjectiveKind::kCost) {
      view_.toll[i] = std::log(price);
    } else {
      const double spends = seconds * std::exp(view_.score[i] - score) * price / kSecondsPerHour;
      view_.toll[i] = kBeyondBudget * std::max(0.0, std::log(spends / left));
    }
  }
  for (size_t i = 0; i < view_.score.size(); ++i) view_.score[i] += view_.toll[i];
}

}  // namespace

View Look(const Evidence& evidence, double now, int current) { return Fitter(evidence, now, current).Fit(); }

Gain View::GainOver(int candidate, int base) const {
  return {score[static_cast<size_t>(base)] - score[static_cast<size_t>(candidate)],
          std::sqrt(speed.DifferenceVariance(candidate, base))};
}

// Both what is not known of speed and what is not known of efficiency count: beliefs about efficiency come and go with
// the noise of the loss, and a job that followed them would wander between settings that are about equal.
double Certainty(const Evidence& evidence, const View& view, int candidate, int base) {
  const auto c = static_cast<size_t>(candidate), b = static_cast<size_t>(base);
  const double faster = view.speed.mean(base) + view.toll[b] - view.speed.mean(candidate) - view.toll[c];
  const double deviation = std::max(std::sqrt(view.speed.DifferenceVariance(candidate, base)), 1e-9);
  const EfficiencyModel& model = evidence.curve().efficiency();
  if (model.staleness_max() <= 0) return NormalCdf(faster / deviation);
  const auto there = model.Efficiencies(view.staleness[c]), here = model.Efficiencies(view.staleness[b]);
  double certainty = 0;
  for (size_t h = 0; h < kHypotheses; ++h)
    certainty += view.curve.weights[h] * NormalCdf((faster + std::log(there[h] / here[h])) / deviation);
  return certainty;
}

double CollapseProbability(const Evidence& evidence, const View& view) {
  return evidence.curve().efficiency().CollapseProbability(view.curve.weights,
                                                           view.staleness[static_cast<size_t>(view.current)]);
}

}  // namespace attune::tuner
