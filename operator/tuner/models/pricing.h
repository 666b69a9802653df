// What an hour at a setting costs: prices of pods, of the cores and of the memory that their limits allow them.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

enum class ObjectiveKind {
  kTime,             // the goal as soon as possible
  kCost,             // at the least cost
  kTimeUnderBudget,  // as soon as possible for at most a budget; where none can be kept, at the least cost
};

struct Objective {
  ObjectiveKind kind = ObjectiveKind::kTime;
  // Per hour, by knob: workers, servers: of one pod; *_millicores: of one core; *_memory_mib: of one GiB. None: one for
  // a core, or for a pod whose cores are no knob.
  std::vector<std::pair<std::string, double>> prices;
  double budget = std::numeric_limits<double>::infinity();  // in the same money, for the whole job
};

// InvalidArgument for a price of what has none, a negative one, a budget that is none.
Status CheckObjective(const Objective& objective);

class Pricing {
 public:
  Pricing(const Objective& objective, const SearchSpace& space);
  double PerHour(int setting) const { return per_hour_[static_cast<size_t>(setting)]; }  // > 0

 private:
  std::vector<double> per_hour_;
};

}  // namespace attune::tuner
