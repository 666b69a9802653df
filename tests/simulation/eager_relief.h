// Rules by which servers give shards away for very little, and again soon: so that rows move for the sake of the load
// while all else happens.
#pragma once

#include <chrono>

#include "ps/core/coordinator/balance/rebalance_decider.h"

namespace attune::ps::simulation {

inline RebalanceRules EagerRelief() {
  return {.hot = 1.02,
          .keys_per_second_min = 1,
          .hot_for = std::chrono::milliseconds(500),
          .better_by = 0.01,
          .rest = std::chrono::seconds(1),
          .rest_max = std::chrono::seconds(4)};
}

}  // namespace attune::ps::simulation
