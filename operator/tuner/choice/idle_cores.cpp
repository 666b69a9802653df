#include "operator/tuner/choice/idle_cores.h"

#include <string_view>

namespace attune::tuner {
namespace {

bool DifferInCoresAlone(const SearchSpace& space, int id, int other) {
  bool differs = false;
  for (int k = 0; k < space.knob_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    if (space.setting(id)[i] == space.setting(other)[i]) continue;
    if (space.knob_name(k) != "worker_millicores" && space.knob_name(k) != "server_millicores") return false;
    differs = true;
  }
  return differs;
}

}  // namespace

bool OnlyStarves(const Evidence& evidence, int candidate, int base) {
  const SearchSpace& space = evidence.space();
  if (evidence.job().objective.kind != ObjectiveKind::kTime || !DifferInCoresAlone(space, candidate, base))
    return false;
  const auto fewer = [&](std::string_view cores) {
    return space.Value(candidate, cores, 0) <= space.Value(base, cores, 0);
  };
  return fewer("worker_millicores") && fewer("server_millicores");
}

// What proved slower is not chosen again.
int WithoutIdleCores(const Evidence& evidence, const View& view, double windows_here) {
  const SearchSpace& space = evidence.space();
  constexpr double kAsFast = 0.03, kKnown = 0.12, kWorth = 0.9;  // of the price
  const int here = view.current;
  if (evidence.job().objective.kind != ObjectiveKind::kTime || windows_here < kKnownWindows) return here;
  int best = here;
  for (int id = 0; id < space.size(); ++id) {
    if (!space.MayPropose(id) || !DifferInCoresAlone(space, id, here) || !evidence.cpu().LeavesRoom(space, here, id))
      continue;
    const double price = evidence.pricing().PerHour(id);
    if (price > kWorth * evidence.pricing().PerHour(here) ||
        (best != here && price >= evidence.pricing().PerHour(best)))
      continue;
    const Gain gain = view.GainOver(id, here);
    if (gain.mean < -kAsFast || gain.deviation > kKnown) continue;
    if (view.crash[static_cast<size_t>(id)] > kTrialCrashMax || evidence.IsBanned(id)) continue;
    best = id;
  }
  return best;
}

}  // namespace attune::tuner
