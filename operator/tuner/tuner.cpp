#include "operator/tuner/tuner.h"

#include <algorithm>
#include <utility>

#include "operator/tuner/choice/adoption.h"
#include "operator/tuner/choice/idle_cores.h"
#include "operator/tuner/choice/trial.h"

namespace attune::tuner {

StatusOr<Tuner> Tuner::Create(JobDescription job, PriorCache& priors) {
  ASSIGN_OR_RETURN(Evidence evidence, Evidence::Create(std::move(job), priors));
  return Tuner(std::move(evidence));
}

Status Tuner::Absorb(const Report& report) {
  if (const Status taken = evidence_.Absorb(report); !taken.ok()) {
    ++rejected_;
    return taken;
  }
  if (!report.ok || report.during_change) return OkStatus();
  const int id = *space().Find(report.setting);
  const double windows = report.seconds / evidence_.job().window_seconds;
  stays_.Absorb(id, windows);
  probe_.Absorb(id, windows, evidence_.LossIn(report).has_value());
  return OkStatus();
}

// A first look around, then a probe where one is in progress or needed, then the trial worth most, otherwise the best
// setting there is.
Decision Tuner::Decide(double now, const Setting& current) {
  const double since_start = evidence_.Advance(now);
  const bool has_knobs = current.size() == static_cast<size_t>(space().knob_count());
  const int here = has_knobs ? space().Find(current).value_or(space().Nearest(current)) : 0;
  const View view = Look(evidence_, since_start, here);

  if (const auto setting = design_.Next(evidence_, view)) return TakeFirstLook(view, *setting);
  if (const auto probe = probe_.Next(evidence_, view)) return Probe(view, *probe);
  const Proposal trial =
      BestTrial(evidence_, view, log_.Caution(evidence_.progress().age() / evidence_.job().window_seconds));
  if (trial.setting >= 0 && trial.value > 0) return Try(view, trial);
  return Settle(view);
}

Decision Tuner::TakeFirstLook(const View& view, int setting) {
  Proposal look{.setting = setting};
  look.gain = view.GainOver(setting, view.current);
  look.cost = evidence_.CostOf(view.current, setting).lost + evidence_.job().window_seconds;
  if (setting == view.current)
    return Finish(view, DecisionKind::kKeep, look, {"", "the present setting is measured before others are tried"});
  return Finish(view, DecisionKind::kTrial, look,
                {"expected " + Text(look.gain), "a first look around, at a setting of medium size"});
}

Decision Tuner::Probe(const View& view, const Proposal& probe) {
  const bool fewer =
      view.staleness[static_cast<size_t>(probe.setting)] < view.staleness[static_cast<size_t>(view.incumbent)];
  const std::string incumbent = space().Text(view.incumbent);
  const std::string check = fewer ? "a check that progress per update does not suffer from staleness at " + incumbent
                                  : "a check that progress per update bears more staleness than at " + incumbent;
  return Finish(view, DecisionKind::kTrial, probe, {"", check + ": knowing may save " + DurationText(probe.saving)});
}

// A trial is worth what may come of it, so that one expected to be slower can be the best there is: that is said.
Decision Tuner::Try(const View& view, const Proposal& trial) {
  std::string reason =
      "may save " + DurationText(trial.saving * view.horizon) + " of about " + DurationText(view.horizon) + " left";
  if (trial.gain.mean < 0)
    reason =
        "slower is likelier than faster, but so little is known of it that the chance is worth a look; it " + reason;
  return Finish(view, DecisionKind::kTrial, trial,
                {"expected " + Text(trial.gain) + " over " + space().Text(view.incumbent), std::move(reason)});
}

Decision Tuner::Settle(const View& view) {
  Proposal move = Adopt(evidence_, view, stays_);
  if (const auto gain = StillUncertain(evidence_, view, stays_, move.setting)) {
    const std::string kept = space().Text(stays_.kept());
    return Finish(
        view, DecisionKind::kTrial, move,
        {"it seems to make " + Text(*gain) + " progress per second against " + kept,
         "it is not certain yet which of this and " + kept + " is better; measured longer before one is kept"});
  }
  if (move.setting == view.current) {
    const int spare = WithoutIdleCores(evidence_, view, stays_.windows_here());
    if (spare != view.current) {
      move.setting = spare;
      move.gain = view.GainOver(spare, view.current);
      return Finish(view, DecisionKind::kKeep, move, {"", "its pods use far less CPU than their limits allow"});
    }
  }
  return Finish(view, DecisionKind::kKeep, move, WhyKept(view, move));
}

Tuner::Why Tuner::WhyKept(const View& view, const Proposal& move) const {
  constexpr double kShortWindows = 12;
  if (move.setting != view.current) {
    const bool collapsed = tuner::CollapseProbability(evidence_, view) > 0.3;
    return {"it makes " + Text(move.gain) + " progress per second",
            std::string(collapsed ? "progress per update has fallen here; " : "") + DurationText(view.horizon) +
                " are left to gain from it"};
  }
  if (view.remaining && view.horizon < kShortWindows * evidence_.job().window_seconds)
    return {"", "the job ends in about " + DurationText(view.horizon) + ", too soon to gain from another change"};
  return {"", evidence_.blocks().blocks().empty() ? "nothing is measured yet"
                                                  : "no other setting is expected to save more than it costs to try"};
}

Decision Tuner::Finish(const View& view, DecisionKind kind, const Proposal& proposal, const Why& why) {
  log_.Judge(evidence_, view, proposal.setting, kind);
  Decision decision{.setting = space().setting(proposal.setting),
                    .kind = kind,
                    .why = why.expectation.empty() ? why.reason : why.expectation + "; " + why.reason,
                    .remaining = view.remaining,
                    .outlook = view.outlook};
  if (proposal.setting != view.current)
    decision.record = log_.Add(evidence_, view, kind, proposal, stays_.kept(), why.reason);
  stays_.Move(proposal.setting, kind);
  decision.seconds = SecondsToStay(view, kind);
  looked_ = {view.now, view.current};
  return decision;
}

double Tuner::SecondsToStay(const View& view, DecisionKind kind) const {
  const double window = evidence_.job().window_seconds;
  if (kind == DecisionKind::kTrial || stays_.windows_here() < 1.5) return window;
  return std::max(window, std::min({0.02 * view.now, 0.05 * view.horizon, 12 * window}));
}

std::optional<View> Tuner::LookAgain() const {
  if (!looked_) return std::nullopt;
  return Look(evidence_, looked_->first, looked_->second);
}

double Tuner::CollapseProbability() const {
  const auto view = LookAgain();
  return view ? tuner::CollapseProbability(evidence_, *view) : 0;
}

Setting Tuner::Incumbent() const {
  if (const auto view = LookAgain()) return space().setting(view->incumbent);
  return space().setting(space().Nearest(space().description().current.value_or(space().setting(0))));
}

std::optional<SettingBelief> Tuner::BeliefAbout(const Setting& setting) const {
  if (!looked_ || static_cast<int>(setting.size()) != space().knob_count()) return std::nullopt;
  const int id = space().Nearest(setting);
  if (space().setting(id) != setting) return std::nullopt;
  return BeliefOf(evidence_, *LookAgain(), id);
}

std::vector<SettingBelief> Tuner::Beliefs(size_t count) const {
  const auto view = LookAgain();
  return view ? BestBeliefs(evidence_, *view, count) : std::vector<SettingBelief>();
}

std::vector<SettingBelief> Tuner::Tradeoffs(size_t count) const {
  const auto view = LookAgain();
  return view ? tuner::Tradeoffs(evidence_, *view, count) : std::vector<SettingBelief>();
}

HistoryEntry Tuner::Summary() const {
  HistoryEntry entry = evidence_.Summary();
  entry.best = Incumbent();
  if (looked_ && evidence_.curve().efficiency().staleness_max() > 0) {
    entry.efficiency = LookAgain()->curve.weights;
    entry.efficiency_known = true;
  }
  return entry;
}

}  // namespace attune::tuner
