// Limits of pods, and what settings cost: which a first look leaves alone, which are given back, what there is to
// choose.
#include <algorithm>
#include <cmath>
#include <utility>

#include "operator/tuner/tuner.h"

namespace attune::tuner {

// Left as they are by a first look around: the pace changes what training is, and what limits do is read from the use
// of CPU and memory without turning them.
bool Tuner::StaysAtFirst(int knob) const {
  return space_.knob_name(knob) == "slack" || space_.cost(knob) == CostClass::kResize;
}

// Fewer cores for the same pods make no job faster: they are given back when it is known that they are idle, not tried.
bool Tuner::OnlyStarves(int candidate, int base) const {
  if (job_.objective.kind != ObjectiveKind::kTime || !DiffersInCoresAlone(candidate, base)) return false;
  const auto fewer = [&](std::string_view cores) {
    return space_.Value(candidate, cores, 0) <= space_.Value(base, cores, 0);
  };
  return fewer("worker_millicores") && fewer("server_millicores");
}

// Cores that are not used are given back where the goal is time: it is the cheapest of the settings that differ in
// limits of CPU alone, leave room above the use, and are as fast as far as is known. What proved slower is not chosen
// again.
int Tuner::WithoutIdleCores(const View& view) const {
  constexpr double kAsFast = 0.03, kKnown = 0.12, kWorth = 0.9;  // of the price
  const int here = view.current;
  if (job_.objective.kind != ObjectiveKind::kTime || windows_here_ < kKnownWindows) return here;
  int best = here;
  for (int id = 0; id < space_.size(); ++id) {
    if (!space_.MayPropose(id) || !DiffersInCoresAlone(id, here) || !cpu_.LeavesRoom(space_, here, id)) continue;
    const double price = pricing_.PerHour(id);
    if (price > kWorth * pricing_.PerHour(here) || (best != here && price >= pricing_.PerHour(best))) continue;
    const Gain gain = GainOver(view, id, here);
    if (gain.mean < -kAsFast || gain.deviation > kKnown) continue;
    if (view.crash[static_cast<size_t>(id)] > kTrialCrashMax || memory_.Banned(space_, id)) continue;
    best = id;
  }
  return best;
}

bool Tuner::DiffersInCoresAlone(int id, int other) const {
  bool differs = false;
  for (int k = 0; k < space_.knob_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    if (space_.setting(id)[i] == space_.setting(other)[i]) continue;
    if (space_.knob_name(k) != "worker_millicores" && space_.knob_name(k) != "server_millicores") return false;
    differs = true;
  }
  return differs;
}

// At the least cost a second counts by its price. Under a budget seconds count alike where what is left of it will do,
// and beyond it the more, the further.
void Tuner::WeighPrices(View& view) const {
  constexpr double kBeyondBudget = 4, kSecondsPerHour = 3600;
  const auto base = static_cast<size_t>(view.incumbent);
  const double seconds = view.remaining ? view.remaining->mid : view.horizon, score = view.score[base];
  const double left = std::max(job_.objective.budget - spent_, 1e-9);
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    const double price = pricing_.PerHour(id);
    if (job_.objective.kind == ObjectiveKind::kCost) {
      view.toll[i] = std::log(price);
    } else {
      const double spends = seconds * std::exp(view.score[i] - score) * price / kSecondsPerHour;
      view.toll[i] = kBeyondBudget * std::max(0.0, std::log(spends / left));
    }
  }
  for (size_t i = 0; i < view.score.size(); ++i) view.score[i] += view.toll[i];
}

SettingBelief Tuner::BeliefOf(const View& view, int id) const {
  const auto i = static_cast<size_t>(id), base = static_cast<size_t>(view.incumbent);
  const double time = view.score[i] - view.toll[i] - view.score[base] + view.toll[base];
  return {.setting = space_.setting(id),
          .seconds_per_update = std::exp(view.speed.mean(id)),
          .gain = GainOver(view, id, view.incumbent),
          .efficiency = std::exp(view.log_efficiency[i]),
          .crash_probability = view.crash[i],
          .windows = view.windows[i],
          .price_per_hour = pricing_.PerHour(id),
          .relative_time = std::exp(time),
          .relative_cost = std::exp(time) * pricing_.PerHour(id) / pricing_.PerHour(view.incumbent)};
}

std::vector<SettingBelief> Tuner::Tradeoffs(size_t count) const {
  if (!looked_ || count == 0) return {};
  const View view = Look(looked_->first, looked_->second);
  std::vector<SettingBelief> all;
  for (int id = 0; id < space_.size(); ++id) {
    const bool safe = view.crash[static_cast<size_t>(id)] <= kTrialCrashMax && !memory_.Banned(space_, id);
    if (id == view.incumbent || (safe && space_.MayPropose(id))) all.push_back(BeliefOf(view, id));
  }
  std::sort(all.begin(), all.end(), [](const SettingBelief& a, const SettingBelief& b) {
    return std::pair(a.relative_time, a.relative_cost) < std::pair(b.relative_time, b.relative_cost);
  });
  std::vector<SettingBelief> front;
  constexpr double kCheaper = 0.99;  // a saving worth a row
  for (SettingBelief& belief : all) {
    if (front.empty() || belief.relative_cost < kCheaper * front.back().relative_cost)
      front.push_back(std::move(belief));
  }
  if (front.size() <= count) return front;
  std::vector<SettingBelief> some;  // the fastest and the cheapest among them
  for (size_t i = 0; i < count; ++i) some.push_back(front[count > 1 ? i * (front.size() - 1) / (count - 1) : 0]);
  return some;
}

}  // namespace attune::tuner
