#include "operator/controller/tuning/change_gate.h"

#include <algorithm>
#include <cmath>

#include "operator/controller/observe/text.h"

namespace attune::controller {
namespace {

constexpr double kHour = 3600;

// When there are fewer than `most` in the hour before.
std::optional<double> UntilFewer(std::vector<double> times, int64_t most, double now) {
  std::erase_if(times, [&](double time) { return time <= now - kHour; });
  if (static_cast<int64_t>(times.size()) < most) return std::nullopt;
  if (most == 0) return kHour;
  std::ranges::sort(times, std::greater<>());
  return times.at(static_cast<size_t>(most) - 1) + kHour - now;
}

// That there is a gain at all.
double Certainty(const tuner::Gain& gain) {
  if (gain.deviation <= 0) return gain.mean > 0 ? 1 : 0;
  return std::erfc(-gain.mean / gain.deviation / std::sqrt(2.0)) / 2;
}

std::optional<Refusal> WhyNotWorthIt(const policy::Effective& rules, const tuner::Gain& gain) {
  if (rules.min_gain_percent && std::expm1(gain.mean) * 100 < *rules.min_gain_percent)
    return Refusal{"a policy asks for a gain of " + kube::Json(*rules.min_gain_percent).dump() + " % at least, and " +
                   tuner::Text(gain) + " is expected"};
  if (rules.certainty && Certainty(gain) < *rules.certainty)
    return Refusal{"a policy asks for a gain that is certain to " + kube::Json(*rules.certainty).dump() + ", and " +
                   tuner::Text(gain) + " is expected"};
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> WhyNotNow(const policy::Effective& rules, const std::vector<PastChange>& past,
                                 const ProposedChange& change, double now) {
  if (change.back) return std::nullopt;
  const auto crashes = std::ranges::count_if(past, [](const PastChange& each) { return each.crashed; });
  if (change.trial && rules.crashes_per_job && crashes >= *rules.crashes_per_job && crashes > 0)
    return Refusal{"a policy lets nothing be tried after " + std::to_string(crashes) + " crashes of this job"};
  std::vector<double> trials, moves;
  double last = -1e300;
  for (const PastChange& each : past) {
    (each.trial ? trials : moves).push_back(each.time);
    last = std::max(last, each.time);
  }
  if (rules.cool_down_seconds && now - last < static_cast<double>(*rules.cool_down_seconds))
    return Refusal{"a policy leaves " + std::to_string(*rules.cool_down_seconds) + " s between two changes",
                   last + static_cast<double>(*rules.cool_down_seconds) - now};
  const auto& most = change.trial ? rules.trials_per_hour : rules.moves_per_hour;
  if (most) {
    const auto wait = UntilFewer(change.trial ? trials : moves, *most, now);
    if (wait)
      return Refusal{"a policy allows " + std::to_string(*most) + (change.trial ? " trials" : " moves") + " in an hour",
                     *wait};
  }
  if (rules.concurrent_changes_per_namespace && change.others_changing >= *rules.concurrent_changes_per_namespace)
    return Refusal{"a policy lets " + Counted(*rules.concurrent_changes_per_namespace, "job") +
                   " of a namespace change at a time, and " + Counted(change.others_changing, "other") + " do"};
  if (!change.no_room.empty()) return Refusal{change.no_room};
  if (!change.trial && change.gain) return WhyNotWorthIt(rules, *change.gain);
  return std::nullopt;
}

}  // namespace attune::controller
