#include "operator/tuner/models/change_cost.h"

#include <algorithm>

namespace attune::tuner {

ChangeCost CostOfChange(const SearchSpace& space, const ChangeCosts& costs, int from, int to) {
  constexpr double kLostWhileRelocating = 0.6;
  bool live = false, relocation = false, pods = false;
  for (int k = 0; k < space.knob_count(); ++k) {
    const int before = space.setting(from)[static_cast<size_t>(k)], after = space.setting(to)[static_cast<size_t>(k)];
    if (before == after) continue;
    switch (space.cost(k)) {
      case CostClass::kLive:
      case CostClass::kResize:
        live = true;
        break;
      case CostClass::kRelocation:
        relocation = true;
        pods |= after > before;
        break;
      case CostClass::kPods:
        pods |= after > before;
        break;
      case CostClass::kPodMove:
        relocation = pods = true;
        break;
    }
  }
  return {.lost = (live ? costs.live : 0) + (relocation ? kLostWhileRelocating * costs.relocation : 0),
          .lead = pods ? costs.pods : 0};
}

}  // namespace attune::tuner
