// What a tuner chooses: the trial worth most, the setting to keep, how long to stay.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "operator/tuner/models/normal.h"
#include "operator/tuner/tuner.h"

namespace attune::tuner {
namespace {

constexpr double kSavingMin = 0.008;       // share of the remaining time; less is not worth the restlessness
constexpr double kFirstLookLossMax = 0.1;  // a first look that is expected to cost more teaches too little for it
constexpr double kCaution = 1.5;           // seconds of cost count this much against seconds of gain
constexpr double kDesignCrashMax = 0.2;
constexpr double kCrashCaution = 1.3;
constexpr double kAdoptGain = 0.02, kAdoptCertainty = 0.88, kReturnCertainty = 0.975, kBoldGain = 0.3;

}  // namespace

// Where to look first, as positions in the ranges in octaves: the middle is safe and shows the use of memory. More
// points cost short jobs more than they teach, the prior being informed.
struct DesignPoint {
  double servers, workers, threads;
};
constexpr std::array<DesignPoint, 1> kDesign = {DesignPoint{0.667, 0.5, 0.5}};

// Seconds lost by one window there, on average: slower window, change, way back, crash.
double Tuner::CostOfTrial(const View& view, int candidate, const Gain& gain, double loss) const {
  const auto change_cost = [&](int from, int to) {
    const ChangeCost change = CostOfChange(space_, job_.costs, from, to);
    // While pods start, the job runs on: lost is only what the present setting is slower than the incumbent.
    const double slower = 1 - std::exp(std::min(0.0, view.score[static_cast<size_t>(view.incumbent)] -
                                                         view.score[static_cast<size_t>(from)]));
    return change.lost + change.lead * slower;
  };
  double cost = job_.window_seconds * loss + change_cost(view.current, candidate);
  const double worse = gain.deviation > 0 ? NormalCdf(-gain.mean / gain.deviation) : (gain.mean < 0 ? 1 : 0);
  cost += worse * change_cost(candidate, view.incumbent);
  if (job_.parts.crash_rule) cost += view.crash[static_cast<size_t>(candidate)] * kCrashCaution * job_.costs.crash;
  return cost;
}

// Adding pods takes a lead time at the old speed, removing them none. A tuner that tries a setting of medium size first
// and a larger one later pays twice. For each setting: seconds expected to be lost in leads to what is larger and may
// be better.
std::vector<double> Tuner::LeadsToCome(const View& view) const {
  constexpr double kEarlyWindows = 80;  // later the surface is known
  std::vector<double> leads(static_cast<size_t>(space_.size()), 0);
  const double lead = job_.costs.pods;
  if (lead < 0.5 * job_.window_seconds || view.now > kEarlyWindows * job_.window_seconds + 4 * lead) return leads;
  struct Group {  // settings that differ in nothing that needs pods
    int best = -1;
    double score = std::numeric_limits<double>::infinity();
  };
  std::map<Setting, Group> groups;
  std::vector<std::map<Setting, Group>::const_iterator> group_of;
  for (int id = 0; id < space_.size(); ++id) {
    Setting pods;
    for (int k = 0; k < space_.knob_count(); ++k) {
      const bool grows_by_pods = space_.cost(k) == CostClass::kPods || space_.cost(k) == CostClass::kRelocation;
      pods.push_back(grows_by_pods ? space_.setting(id)[static_cast<size_t>(k)] : 0);
    }
    const auto at = groups.try_emplace(std::move(pods)).first;
    group_of.push_back(at);
    const auto i = static_cast<size_t>(id);
    if (view.score[i] < at->second.score && space_.MayPropose(id) && view.crash[i] < kDesignCrashMax &&
        !memory_.Banned(space_, id))
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
    const Gain gain = GainOver(view, beyond->best, group.best);
    lead_of[pods] = lead * ExpectedSaving(gain.mean, gain.deviation);
  }
  for (size_t i = 0; i < leads.size(); ++i) {
    const auto found = lead_of.find(group_of[i]->first);
    if (found != lead_of.end()) leads[i] = found->second;
  }
  return leads;
}

// How much more a trial must promise than it costs: more after a row of trials that were not taken, and when a job has
// changed more often than its age warrants (noise that looks like drift would keep the search open for ever).
double Tuner::Caution() const {
  constexpr double kFailuresFree = 6, kChanges = 12, kWindowsPerChange = 40;
  double failed = 0;
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (record->verdict == Verdict::kKept) break;
    failed += record->kind == DecisionKind::kTrial && record->verdict != Verdict::kOpen ? 1 : 0;
  }
  const double age = progress_.age() / job_.window_seconds;
  const double excess = static_cast<double>(next_number_ - 1) / (kChanges + age / kWindowsPerChange);
  return kCaution * (1 + std::max(0.0, failed - kFailuresFree) / kFailuresFree) * std::max(1.0, excess * excess);
}

// A bound on the lead makes workers wait and rows fresher: nothing is gained where updates count whatever they are
// worth.
bool Tuner::OnlyWaits(int candidate, int base) const {
  if (job_.goal.kind == GoalKind::kLoss || job_.goal.kind == GoalKind::kMetric) return false;
  return space_.Value(candidate, "slack", 0) < space_.Value(base, "slack", 0);
}

Tuner::Proposal Tuner::BestTrial(const View& view) const {
  Proposal best;
  best.value = -std::numeric_limits<double>::infinity();
  // Noise of one window there: constant, and falling with its updates.
  constexpr double kMany = 1e12;
  const double noise_floor = blocks_.Variance(kMany, 1), noise_per_update = blocks_.Variance(1, 1) - noise_floor;
  const std::vector<double> leads = LeadsToCome(view);
  const double caution = Caution();
  // Instead of a setting of medium size: what is expected to be much slower is no first look here either.
  const bool is_first =
      !timing_.taken().empty() && std::ranges::count_if(view.windows, [](double windows) { return windows > 0; }) <= 1;
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (is_first && !IsBearable(view, id)) continue;
    if (id == view.incumbent || !space_.MayPropose(id) || view.windows[i] >= kKnownWindows) continue;
    if (OnlyWaits(id, view.incumbent) || OnlyStarves(id, view.incumbent)) continue;
    if (job_.parts.crash_rule && (view.crash[i] > kTrialCrashMax || memory_.Banned(space_, id))) continue;
    Proposal proposal{.setting = id};
    proposal.gain = GainOver(view, id, view.incumbent);
    const double d = proposal.gain.mean, s = proposal.gain.deviation;
    const double updates = job_.window_seconds / std::exp(view.speed.mean(id));
    const double noise = noise_floor + noise_per_update / std::max(updates, 0.5);
    const double resolved = s * s / std::sqrt(s * s + noise);  // of the belief after the trial
    proposal.saving = ExpectedSaving(d, resolved);
    proposal.cost = CostOfTrial(view, id, proposal.gain, ExpectedSaving(-d, s)) + leads[i];
    if (job_.parts.value_of_trial) {
      proposal.value = proposal.saving * (view.horizon - job_.window_seconds) -
                       (job_.parts.change_costs ? caution * proposal.cost : 0);
    } else {
      proposal.value = d * view.horizon - kCaution * proposal.cost;
    }
    if (proposal.saving < kSavingMin) continue;
    if (proposal.value > best.value) best = proposal;
  }
  return best;
}

// A first look that leaves a knob as it is says nothing of it: where it turns one, it turns them all.
void Tuner::TurnEveryKnob(const Setting& current, Setting& wanted) const {
  if (wanted == current) return;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const KnobRange& range = space_.description().knobs[k];
    if (wanted[k] != current[k] || range.low == range.high || StaysAtFirst(static_cast<int>(k))) continue;
    wanted[k] = current[k] > range.low ? std::max(range.low, current[k] / 2) : std::min(range.high, current[k] * 2);
  }
}

Setting Tuner::MediumSize(const View& view, const DesignPoint& point) const {
  Setting medium;
  for (int k = 0; k < space_.knob_count(); ++k) {
    const KnobRange& range = space_.description().knobs[static_cast<size_t>(k)];
    const std::string& name = range.name;
    if (StaysAtFirst(k)) {
      medium.push_back(space_.setting(view.current)[static_cast<size_t>(k)]);
      continue;
    }
    const double at = name == "servers"   ? point.servers
                      : name == "workers" ? point.workers
                      : name == "threads" ? point.threads
                                          : 0.5;
    const double low = std::max(range.low, 1), high = std::max(range.high, 1);
    medium.push_back(static_cast<int>(std::lround(low * std::pow(high / low, at))));
  }
  return medium;
}

// By what such jobs are like and by the present setting's speed: the prior knows that one worker does not become
// faster by three times the servers.
bool Tuner::IsBearable(const View& view, int id) const {
  return GainOver(view, id, view.current).mean >= std::log1p(-kFirstLookLossMax);
}

// The setting of medium size, with every knob turned. Where that is expected to be slower than now, or to ask more of a
// pod than is known to fit, the nearest to it that is not; a knob that it leaves as it is costs an octave. None: the
// present one.
int Tuner::FirstLook(const View& view, const Setting& medium) const {
  const Setting& current = space_.setting(view.current);
  Setting turned = medium;
  TurnEveryKnob(current, turned);
  const int wanted = space_.Nearest(turned);
  const bool risky = view.crash[static_cast<size_t>(wanted)] >= kDesignCrashMax;
  if (wanted == view.current || (!risky && IsBearable(view, wanted))) return wanted;
  const int center = space_.Nearest(medium);
  int best = view.current;
  double least = std::numeric_limits<double>::infinity();
  for (int id = 0; id < space_.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    if (id == view.current || !space_.MayPropose(id) || memory_.Banned(space_, id)) continue;
    if (view.crash[i] >= kDesignCrashMax || !IsBearable(view, id)) continue;
    double distance = 0;
    for (int k = 0; k < space_.knob_count(); ++k) {
      const bool stays = space_.setting(id)[static_cast<size_t>(k)] == current[static_cast<size_t>(k)];
      if (!stays && StaysAtFirst(k)) distance = std::numeric_limits<double>::infinity();
      distance += std::abs(space_.Coordinate(id, k) - space_.Coordinate(center, k)) + (stays ? 1 : 0);
    }
    if (distance >= least) continue;
    least = distance;
    best = id;
  }
  return best;
}

std::optional<int> Tuner::NextOfStartDesign(const View& view) {
  if (!job_.parts.start_design || !timing_.taken().empty()) return std::nullopt;
  while (design_next_ < kDesign.size()) {
    int id = FirstLook(view, MediumSize(view, kDesign[design_next_++]));
    // Where pods take longer than windows, a setting of medium size is no place worth waiting for.
    if (job_.costs.pods > job_.window_seconds && CostOfChange(space_, job_.costs, view.current, id).lead > 0)
      id = view.current;
    const auto i = static_cast<size_t>(id);
    const bool risky = id != view.current && view.crash[i] >= kDesignCrashMax;
    if (view.windows[i] > 0 || risky || memory_.Banned(space_, id)) continue;
    return id;
  }
  return std::nullopt;
}

// A knob whose value makes no difference between target and here keeps its present value: nothing changes without
// effect.
int Tuner::Simplify(const View& view, int target) const {
  constexpr double kNoEffect = 0.004;
  Setting setting = space_.setting(target);
  for (int k = 0; k < space_.knob_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    const int here = space_.setting(view.current)[i];
    if (setting[i] == here) continue;
    Setting simpler = setting;
    simpler[i] = here;
    const auto id = space_.Find(simpler);
    if (!id || !space_.MayPropose(*id) || view.windows[static_cast<size_t>(*id)] <= 0) continue;
    if (view.score[static_cast<size_t>(*id)] <= view.score[static_cast<size_t>(target)] + kNoEffect) setting = simpler;
  }
  return *space_.Find(setting);
}

// What may save much is worth a risk, and the way back from a trial needs no proof. Going back to what was left by
// decision needs the most, doubts about efficiency included, or two equal settings would take turns.
bool Tuner::IsCertain(const View& view, int target, const Gain& gain) const {
  if (gain.mean > kBoldGain || target == kept_setting_) return true;
  if (target == previous_kept_) return Certainty(view, target, view.current) > kReturnCertainty;
  return NormalCdf(gain.mean / std::max(gain.deviation, 1e-9)) > kAdoptCertainty;
}

int Tuner::Adopt(const View& view, Proposal& move) const {
  int target = view.incumbent;
  if (target != view.current) target = Simplify(view, target);
  if (target == view.current) return target;
  const bool must_leave = memory_.Banned(space_, view.current) && job_.parts.crash_rule;
  move.setting = target;
  move.gain = GainOver(view, target, view.current);
  const ChangeCost change = CostOfChange(space_, job_.costs, view.current, target);
  move.cost = change.lost;
  move.saving = ExpectedSaving(move.gain.mean, move.gain.deviation);
  if (must_leave || !job_.parts.hysteresis) return target;
  const bool pays = move.saving * view.horizon > kCaution * move.cost;
  const bool clear = move.gain.mean > kAdoptGain && IsCertain(view, target, move.gain);
  return pays && clear ? target : view.current;
}

// A setting that is not certainly better than the one kept last stays on trial: being there costs little, and saying
// "kept" before it is certain makes for roll-backs.
std::optional<Gain> Tuner::StillUncertain(const View& view, int target) const {
  constexpr double kCertain = 0.96, kLongest = 12;  // windows
  if (!job_.parts.hysteresis || kept_setting_ < 0 || target == kept_setting_) return std::nullopt;
  if (view.windows[static_cast<size_t>(target)] >= kLongest || memory_.Banned(space_, kept_setting_))
    return std::nullopt;
  const Gain gain = GainOver(view, target, kept_setting_);
  if (Certainty(view, target, kept_setting_) > kCertain) return std::nullopt;
  return gain;
}

double Tuner::StayAtTrial(const View&) const { return job_.window_seconds; }

double Tuner::StayAtKeep(const View& view) const {
  const double window = job_.window_seconds;
  if (windows_here_ < 1.5) return window;
  const double longest = std::min({0.02 * view.now, 0.05 * view.horizon, 12 * window});
  return std::max(window, longest);
}

// The change decided last is judged when it is left or has been stayed with.
void Tuner::CloseRecord(const View& view, int next, DecisionKind kind) {
  if (records_.empty() || records_.back().verdict != Verdict::kOpen) return;
  DecisionRecord& record = records_.back();
  const auto to = space_.Find(record.to), from = space_.Find(record.incumbent);
  if (!to || !from) return;
  record.windows = view.windows[static_cast<size_t>(*to)];
  if (record.windows > 0) record.measured = GainOver(view, *to, *from);
  const auto& crashed = memory_.crashed();
  if (std::find(crashed.begin(), crashed.end(), *to) != crashed.end()) {
    record.verdict = Verdict::kCrashed;
  } else if (next != *to) {
    const bool back = record.kind == DecisionKind::kKeep && space_.setting(next) == record.from;
    if (record.kind == DecisionKind::kTrial) {
      record.verdict = view.incumbent == *to ? Verdict::kKept : Verdict::kRejected;
    } else {
      record.verdict = back ? Verdict::kRolledBack : Verdict::kKept;
    }
  } else if (kind == DecisionKind::kKeep && record.windows >= kKnownWindows) {
    record.verdict = Verdict::kKept;
  }
}

Decision Tuner::Finish(const View& view, int target, DecisionKind kind, const Proposal& proposal, const Why& why) {
  CloseRecord(view, target, kind);
  Decision decision{.setting = space_.setting(target),
                    .kind = kind,
                    .why = why.expectation.empty() ? why.reason : why.expectation + "; " + why.reason,
                    .remaining = view.remaining,
                    .outlook = view.outlook};
  if (target != view.current) {
    DecisionRecord record{.number = next_number_++,
                          .time = progress_.TimeAt(view.now),
                          .kind = kind,
                          .from = space_.setting(view.current),
                          .to = decision.setting,
                          .incumbent = space_.setting(kind == DecisionKind::kKeep ? view.current
                                                      : target == view.incumbent  ? kept_setting_
                                                                                  : view.incumbent),
                          .why = why.reason,
                          .predicted = proposal.gain,
                          .cost_seconds = proposal.cost,
                          .horizon_seconds = view.horizon};
    decision.record = record.number;
    records_.push_back(std::move(record));
    if (records_.size() > kRecordsMax) records_.erase(records_.begin());
  }
  if (target != last_setting_) {
    previous_setting_ = last_setting_;
    last_setting_ = target;
    windows_here_ = 0;
  }
  if (kind == DecisionKind::kKeep && target != kept_setting_) {
    previous_kept_ = kept_setting_;
    kept_setting_ = target;
  }
  decision.seconds = kind == DecisionKind::kTrial ? StayAtTrial(view) : StayAtKeep(view);
  looked_ = {view.now, view.current};
  return decision;
}

}  // namespace attune::tuner
