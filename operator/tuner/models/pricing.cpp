#include "operator/tuner/models/pricing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace attune::tuner {
namespace {

struct PricedKnob {
  std::string_view pods, knob;
  double unit;  // of the knob's value that the price is for
};
constexpr std::array kPriced = {PricedKnob{"workers", "workers", 0},
                                PricedKnob{"servers", "servers", 0},
                                PricedKnob{"workers", "worker_millicores", 1000},
                                PricedKnob{"servers", "server_millicores", 1000},
                                PricedKnob{"workers", "worker_memory_mib", 1024},
                                PricedKnob{"servers", "server_memory_mib", 1024}};

double PriceOf(const Objective& objective, const SearchSpace& space, const PricedKnob& priced) {
  for (const auto& [knob, price] : objective.prices) {
    if (knob == priced.knob) return price;
  }
  if (!objective.prices.empty()) return 0;
  const bool is_cores = priced.unit == 1000;
  if (is_cores) return 1;
  const std::string_view cores = priced.pods == "workers" ? "worker_millicores" : "server_millicores";
  return priced.unit == 0 && !space.KnobIndex(cores) ? 1 : 0;
}

}  // namespace

Status CheckObjective(const Objective& objective) {
  const auto bad = [](const std::string& text) { return Error(StatusCode::kInvalidArgument, text); };
  double sum = 0;
  for (const std::pair<std::string, double>& one : objective.prices) {
    const std::string& knob = one.first;
    const double price = one.second;
    const bool known = std::any_of(kPriced.begin(), kPriced.end(), [&](const PricedKnob& p) { return p.knob == knob; });
    if (!known) {
      std::string names;
      for (const PricedKnob& priced : kPriced) names += (names.empty() ? "" : ", ") + std::string(priced.knob);
      return bad("there is no price of " + knob + "; prices are of " + names);
    }
    if (!std::isfinite(price) || price < 0) return bad("the price of " + knob + " must be a number >= 0");
    sum += price;
  }
  if (!objective.prices.empty() && !(sum > 0)) return bad("all prices are 0; leave them out for one per core-hour");
  if (!(objective.budget > 0)) return bad("the budget must be a positive number");
  if (objective.kind == ObjectiveKind::kTimeUnderBudget && !std::isfinite(objective.budget))
    return bad("the objective time_under_budget needs a budget");
  return OkStatus();
}

Pricing::Pricing(const Objective& objective, const SearchSpace& space) {
  constexpr double kLeast = 1e-9;  // nothing is free: its logarithm is taken
  std::array<double, kPriced.size()> prices{};
  for (size_t i = 0; i < kPriced.size(); ++i) prices[i] = PriceOf(objective, space, kPriced[i]);
  for (int id = 0; id < space.size(); ++id) {
    double sum = 0;
    for (size_t i = 0; i < kPriced.size(); ++i) {
      const PricedKnob& priced = kPriced[i];
      const double pods = std::max(1, space.Value(id, priced.pods, 1));
      // A limit that is no knob is the same everywhere, and belongs to the price of the pod.
      const double units = priced.unit == 0 ? 1 : space.Value(id, priced.knob, 0) / priced.unit;
      sum += prices[i] * pods * units;
    }
    per_hour_.push_back(std::max(sum, kLeast));
  }
}

}  // namespace attune::tuner
