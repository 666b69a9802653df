#include "operator/tuner/models/random/unknown_knobs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "operator/tuner/models/random/draws.h"

namespace attune::tuner {
namespace {

// Memory limits are modeled, too: they change no speed.
bool IsModeled(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "servers",           "workers",           "threads",           "slack",
      "worker_millicores", "server_millicores", "worker_memory_mib", "server_memory_mib"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

UnknownKnobs::UnknownKnobs(const SearchSpace& space, Random& random) {
  for (int k = 0; k < space.knob_count(); ++k) {
    curvature_.push_back(IsModeled(space.knob_name(k)) ? 0 : std::abs(random.Normal()));
    optimum_.push_back(DrawUniform(random, -0.3, 1.3));
  }
}

double UnknownKnobs::AddTo(double log_seconds, const SearchSpace& space, int setting) const {
  for (int k = 0; k < space.knob_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    if (curvature_[i] == 0) continue;
    const double away = space.Position(setting, k) - optimum_[i];
    log_seconds += curvature_[i] * away * away;
  }
  return log_seconds;
}

}  // namespace attune::tuner
