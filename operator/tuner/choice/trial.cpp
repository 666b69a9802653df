#include "operator/tuner/choice/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "operator/tuner/choice/idle_cores.h"
#include "operator/tuner/choice/start_design.h"
#include "operator/tuner/models/normal.h"

namespace attune::tuner {
namespace {

constexpr double kSavingMin = 0.008;  // share of the remaining time; less is not worth the restlessness
constexpr double kPromisingCrashMax = 0.2;
constexpr double kCrashCaution = 1.3;

// Seconds lost by one window there, on average: slower window, change, way back, crash.
double CostOfTrial(const Evidence& evidence, const View& view, int candidate, const Gain& gain, double loss) {
  const auto change_cost = [&](int from, int to) {
    const ChangeCost change = evidence.CostOf(from, to);
    // While pods start, the job runs on: lost is only what the present setting is slower than the incumbent.
    const double slower = 1 - std::exp(std::min(0.0, view.score[static_cast<size_t>(view.incumbent)] -
                                                         view.score[static_cast<size_t>(from)]));
    return change.lost + change.lead * slower;
  };
  double cost = evidence.job().window_seconds * loss + change_cost(view.current, candidate);
  const double worse = gain.deviation > 0 ? NormalCdf(-gain.mean / gain.deviation) : (gain.mean < 0 ? 1 : 0);
  cost += worse * change_cost(candidate, view.incumbent);
  if (evidence.job().parts.crash_rule)
    cost += view.crash[static_cast<size_t>(candidate)] * kCrashCaution * evidence.job().costs.crash;
  return cost;
}

// Adding pods takes a lead time at the old speed, removing them none. A tuner that tries a setting of medium size first
// and a larger one later pays twice. For each setting: seconds expected to be lost in leads to what is larger and may
// be better.
std::vector<double> LeadsToCome(const Evidence& evidence, const View& view) {
  const SearchSpace& space = evidence.space();
  constexpr double kEarlyWindows = 80;  // later the surface is known
  std::vector<double> leads(static_cast<size_t>(space.size()), 0);
  const double lead = evidence.job().costs.pods;
  if (lead < 0.5 * evidence.job().window_seconds || view.now > kEarlyWindows * evidence.job().window_seconds + 4 * lead)
    return leads;
  struct Group {  // settings that differ in nothing that needs pods
    int best = -1;
    double score = std::numeric_limits<double>::infinity();
  };
  std::map<Setting, Group> groups;
  std::vector<std::map<Setting, Group>::const_iterator> group_of;
  for (int id = 0; id < space.size(); ++id) {
    Setting pods;
    for (int k = 0; k < space.knob_count(); ++k) {
      const bool grows_by_pods = space.cost(k) == CostClass::kPods || space.cost(k) == CostClass::kRelocation;
      pods.push_back(grows_by_pods ? space.setting(id)[static_cast<size_t>(k)] : 0);
    }
    const auto at = groups.try_emplace(std::move(pods)).first;
    group_of.push_back(at);
    const auto i = static_cast<size_t>(id);
    if (view.score[i] < at->second.score && space.MayPropose(id) && view.crash[i] < kPromisingCrashMax &&
        !evidence.IsBanned(id))
      at->second = {id, view.score[i]};
  }
  std::map<Setting, double> lead_of;
  for (const auto& [pods, group] : groups) {
    if (group.best < 0) continue;
    const Group* beyond = nullptr;  // the most promising one that needs more pods
    for (const auto& [other, candidate] : groups) {
      bool more = false;
      for (size_t k = 0; k < other.size(); ++k) more |= other[k] > pods[k];
      if (more && candidate.best >= 0 && (beyond == nullptr || candidate.score < beyond->score)) beyond = &candidate;
    }
    if (beyond == nullptr) continue;
    const Gain gain = view.GainOver(beyond->best, group.best);
    lead_of[pods] = lead * ExpectedSaving(gain.mean, gain.deviation);
  }
  for (size_t i = 0; i < leads.size(); ++i) {
    const auto found = lead_of.find(group_of[i]->first);
    if (found != lead_of.end()) leads[i] = found->second;
  }
  return leads;
}

// A bound on the lead makes workers wait and rows fresher: nothing is gained where updates count whatever they are
// worth.
bool OnlyWaits(const Evidence& evidence, int candidate, int base) {
  if (!evidence.progress().CountsUpdates()) return false;
  return evidence.space().Value(candidate, "slack", 0) < evidence.space().Value(base, "slack", 0);
}

}  // namespace

Proposal BestTrial(const Evidence& evidence, const View& view, double caution) {
  const SearchSpace& space = evidence.space();
  Proposal best;
  best.value = -std::numeric_limits<double>::infinity();
  // Noise of one window there: constant, and falling with its updates.
  constexpr double kMany = 1e12;
  const double noise_floor = evidence.blocks().Variance(kMany, 1),
               noise_per_update = evidence.blocks().Variance(1, 1) - noise_floor;
  const std::vector<double> leads = LeadsToCome(evidence, view);
  // Instead of a setting of medium size: what is expected to be much slower is no first look here either.
  const bool is_first =
      evidence.KnowsTimes() && std::ranges::count_if(view.windows, [](double windows) { return windows > 0; }) <= 1;
  for (int id = 0; id < space.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (is_first && !IsBearable(view, id)) continue;
    if (id == view.incumbent || !space.MayPropose(id) || view.windows[i] >= kKnownWindows) continue;
    if (OnlyWaits(evidence, id, view.incumbent) || OnlyStarves(evidence, id, view.incumbent)) continue;
    if (evidence.job().parts.crash_rule && (view.crash[i] > kTrialCrashMax || evidence.IsBanned(id))) continue;
    Proposal proposal{.setting = id};
    proposal.gain = view.GainOver(id, view.incumbent);
    const double d = proposal.gain.mean, s = proposal.gain.deviation;
    const double updates = evidence.job().window_seconds / std::exp(view.speed.mean(id));
    const double noise = noise_floor + noise_per_update / std::max(updates, 0.5);
    const double resolved = s * s / std::sqrt(s * s + noise);  // of the belief after the trial
    proposal.saving = ExpectedSaving(d, resolved);
    proposal.cost = CostOfTrial(evidence, view, id, proposal.gain, ExpectedSaving(-d, s)) + leads[i];
    if (evidence.job().parts.value_of_trial) {
      proposal.value = proposal.saving * (view.horizon - evidence.job().window_seconds) -
                       (evidence.job().parts.change_costs ? caution * proposal.cost : 0);
    } else {
      proposal.value = d * view.horizon - kCaution * proposal.cost;
    }
    if (proposal.saving < kSavingMin) continue;
    if (proposal.value > best.value) best = proposal;
  }
  return best;
}

}  // namespace attune::tuner
