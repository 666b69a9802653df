#include "operator/tuner/choice/adoption.h"

#include <algorithm>

#include "operator/tuner/models/normal.h"

namespace attune::tuner {
namespace {

constexpr double kAdoptGain = 0.02, kAdoptCertainty = 0.88, kReturnCertainty = 0.975, kBoldGain = 0.3;

// A knob whose value makes no difference between target and here keeps its present value: nothing changes without
// effect.
int Simplify(const Evidence& evidence, const View& view, int target) {
  const SearchSpace& space = evidence.space();
  constexpr double kNoEffect = 0.004;
  Setting setting = space.setting(target);
  for (int k = 0; k < space.knob_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    const int here = space.setting(view.current)[i];
    if (setting[i] == here) continue;
    Setting simpler = setting;
    simpler[i] = here;
    const auto id = space.Find(simpler);
    if (!id || !space.MayPropose(*id) || view.windows[static_cast<size_t>(*id)] <= 0) continue;
    if (view.score[static_cast<size_t>(*id)] <= view.score[static_cast<size_t>(target)] + kNoEffect) setting = simpler;
  }
  return *space.Find(setting);
}

// What may save much is worth a risk, and the way back from a trial needs no proof. Going back to what was left by
// decision needs the most, doubts about efficiency included, or two equal settings would take turns.
bool IsCertain(const Evidence& evidence, const View& view, const Stays& stays, int target, const Gain& gain) {
  if (gain.mean > kBoldGain || target == stays.kept()) return true;
  if (target == stays.previous_kept()) return Certainty(evidence, view, target, view.current) > kReturnCertainty;
  return NormalCdf(gain.mean / std::max(gain.deviation, 1e-9)) > kAdoptCertainty;
}

}  // namespace

Proposal Adopt(const Evidence& evidence, const View& view, const Stays& stays) {
  Proposal move{.setting = view.current};
  if (view.incumbent == view.current) return move;
  move.setting = Simplify(evidence, view, view.incumbent);
  if (move.setting == view.current) return move;
  move.gain = view.GainOver(move.setting, view.current);
  move.cost = evidence.CostOf(view.current, move.setting).lost;
  move.saving = ExpectedSaving(move.gain.mean, move.gain.deviation);
  const TunerParts& parts = evidence.job().parts;
  const bool must_leave = evidence.IsBanned(view.current) && parts.crash_rule;
  if (must_leave || !parts.hysteresis) return move;
  const bool pays = move.saving * view.horizon > kCaution * move.cost;
  const bool clear = move.gain.mean > kAdoptGain && IsCertain(evidence, view, stays, move.setting, move.gain);
  if (!pays || !clear) move.setting = view.current;
  return move;
}

std::optional<Gain> StillUncertain(const Evidence& evidence, const View& view, const Stays& stays, int target) {
  constexpr double kCertain = 0.96, kLongest = 12;  // windows
  if (!evidence.job().parts.hysteresis || stays.kept() < 0 || target == stays.kept()) return std::nullopt;
  if (view.windows[static_cast<size_t>(target)] >= kLongest || evidence.IsBanned(stays.kept())) return std::nullopt;
  const Gain gain = view.GainOver(target, stays.kept());
  if (Certainty(evidence, view, target, stays.kept()) > kCertain) return std::nullopt;
  return gain;
}

}  // namespace attune::tuner
