#include "ps/store/formulas/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attune::ps {

float RateFactor(const LearningRateSchedule& schedule, uint64_t step) {
  const auto warmup = static_cast<double>(schedule.warmup_steps);
  if (step < schedule.warmup_steps) return static_cast<float>((static_cast<double>(step) + 1) / warmup);
  const double final_factor = schedule.final_factor;
  // How far the decay has come, 0 .. 1.
  const double share = schedule.decay_steps == 0 ? 1
                                                 : std::min(1.0, static_cast<double>(step - schedule.warmup_steps) /
                                                                     static_cast<double>(schedule.decay_steps));
  double factor = 1;
  switch (schedule.decay) {
    case LearningRateDecay::kNone:
      break;
    case LearningRateDecay::kLinear:
      factor = 1 - (1 - final_factor) * share;
      break;
    case LearningRateDecay::kCosine:
      factor = final_factor + (1 - final_factor) * 0.5 * (1 + std::cos(std::numbers::pi * share));
      break;
    case LearningRateDecay::kInverseSquareRoot: {
      const double unit = std::max(1.0, warmup);
      factor = std::max(final_factor, std::sqrt(unit / std::max(unit, static_cast<double>(step))));
      break;
    }
  }
  return static_cast<float>(factor);
}

}  // namespace attune::ps
