#include "operator/tuner/belief/setting_belief.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attune::tuner {

SettingBelief BeliefOf(const Evidence& evidence, const View& view, int id) {
  const auto i = static_cast<size_t>(id), base = static_cast<size_t>(view.incumbent);
  const double time = view.score[i] - view.toll[i] - view.score[base] + view.toll[base];
  return {
      .setting = evidence.space().setting(id),
      .seconds_per_update = std::exp(view.speed.mean(id)),
      .gain = view.GainOver(id, view.incumbent),
      .efficiency = std::exp(view.log_efficiency[i]),
      .crash_probability = view.crash[i],
      .windows = view.windows[i],
      .price_per_hour = evidence.pricing().PerHour(id),
      .relative_time = std::exp(time),
      .relative_cost = std::exp(time) * evidence.pricing().PerHour(id) / evidence.pricing().PerHour(view.incumbent)};
}

std::vector<SettingBelief> BestBeliefs(const Evidence& evidence, const View& view, size_t count) {
  const SearchSpace& space = evidence.space();
  std::vector<int> order;
  order.reserve(static_cast<size_t>(space.size()));
  for (int id = 0; id < space.size(); ++id) order.push_back(id);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return view.score[static_cast<size_t>(a)] < view.score[static_cast<size_t>(b)]; });
  std::vector<SettingBelief> beliefs;
  for (const int id : order) {
    if (beliefs.size() >= count) break;
    beliefs.push_back(BeliefOf(evidence, view, id));
  }
  return beliefs;
}

std::vector<SettingBelief> Tradeoffs(const Evidence& evidence, const View& view, size_t count) {
  if (count == 0) return {};
  const SearchSpace& space = evidence.space();
  std::vector<SettingBelief> all;
  for (int id = 0; id < space.size(); ++id) {
    const bool safe = view.crash[static_cast<size_t>(id)] <= kTrialCrashMax && !evidence.IsBanned(id);
    if (id == view.incumbent || (safe && space.MayPropose(id))) all.push_back(BeliefOf(evidence, view, id));
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
