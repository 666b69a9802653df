#include "operator/tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace attune::tuner {
namespace {

constexpr double kWindowSecondsMin = 1e-3, kWindowSecondsMax = 1e6;

Status CheckJob(const JobDescription& job) {
  const auto bad = [](const std::string& text) { return Error(StatusCode::kInvalidArgument, text); };
  if (!(job.window_seconds >= kWindowSecondsMin && job.window_seconds <= kWindowSecondsMax))
    return bad("the window must last between 0.001 and 1000000 s");
  if (!(job.goal.max_seconds > 0)) return bad("max_seconds must be positive");
  const bool ends_by_time = job.goal.kind == GoalKind::kSteps && std::isfinite(job.goal.max_seconds);
  if (!(job.goal.target > 0) || (!std::isfinite(job.goal.target) && !ends_by_time))
    return bad("the goal's target must be a positive number");
  if (job.goal.kind == GoalKind::kEpochs && !(job.goal.steps_per_epoch > 0))
    return bad("a goal in epochs needs steps_per_epoch > 0");
  if (!(job.goal.max_steps > 0)) return bad("max_steps must be positive");
  for (const double cost : {job.costs.live, job.costs.relocation, job.costs.pods, job.costs.crash}) {
    if (!std::isfinite(cost) || cost < 0) return bad("costs must be seconds >= 0");
  }
  return CheckObjective(job.objective);
}

double StalenessMax(const SearchSpace& space, const TunerParts& parts, GoalKind goal) {
  // A goal in steps counts updates, whatever they are worth.
  if (!parts.efficiency || goal == GoalKind::kSteps || goal == GoalKind::kEpochs) return 0;
  const auto workers = space.KnobIndex("workers");
  return workers ? space.description().knobs[static_cast<size_t>(*workers)].high - 1 : 0;
}

bool FiniteIn(const std::optional<double>& value, double low, double high) {
  return !value || (std::isfinite(*value) && *value >= low && *value <= high);
}

// What of a report cannot be true by itself; empty: nothing.
std::string Impossible(const Report& report) {
  if (!std::isfinite(report.time) || !std::isfinite(report.seconds) || !std::isfinite(report.steps))
    return "time, seconds and steps must be finite";
  if (report.seconds < 0 || report.steps < 0) return "seconds and steps must not be negative";
  if (!FiniteIn(report.staleness, 0, 1e9)) return "staleness must be a number >= 0";
  if (!FiniteIn(report.server_memory, 0, 100) || !FiniteIn(report.worker_memory, 0, 100))
    return "memory must be a share of the limit, 0..1";
  for (const auto& share : {report.worker_throttled, report.worker_cpu, report.server_throttled, report.server_cpu}) {
    if (!FiniteIn(share, 0, 100)) return "throttling and use of CPU must be shares, 0..1";
  }
  if (!FiniteIn(report.worker_compute, 0, 1) || !FiniteIn(report.server_busy, 0, 1))
    return "worker_compute and server_busy must be shares, 0..1";
  return "";
}

}  // namespace

StatusOr<Tuner> Tuner::Create(JobDescription job, PriorCache& priors) {
  RETURN_IF_ERROR(CheckJob(job));
  ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(job.space));
  auto prior = priors.Get(space, job.mode);
  return Tuner(std::move(job), std::move(space), std::move(prior));
}

Tuner::Tuner(JobDescription job, SearchSpace space, std::shared_ptr<const StructuralPrior> prior)
    : job_(std::move(job)),
      space_(std::move(space)),
      prior_(std::move(prior)),
      blocks_(job_.window_seconds, job_.parts.medians),
      memory_(space_, job_.parts.memory),
      curve_(EfficiencyModel(StalenessMax(space_, job_.parts, job_.goal.kind), job_.parts.collapse),
             job_.window_seconds),
      throughput_(prior_, {.structure = job_.parts.structure, .drift = job_.parts.drift}),
      pricing_(job_.objective, space_),
      staleness_(job_.mode),
      progress_(job_.goal) {
  std::vector<std::string> knobs;
  knobs.reserve(static_cast<size_t>(space_.knob_count()));
  for (int k = 0; k < space_.knob_count(); ++k) knobs.push_back(space_.knob_name(k));
  constexpr double kTrust = 0.7;  // in what similar jobs found out about efficiency
  int source = 0;
  for (const HistoryEntry* entry : job_.history.Similar(job_.signature, knobs)) {
    ++source;
    for (const HistoryEntry::Speed& speed : entry->speeds) {
      if (const auto id = space_.Find(speed.setting))
        blocks_.AddHistory(*id, source, speed.log_seconds, speed.updates, speed.windows);
    }
    for (const Setting& setting : entry->crashed) {
      if (const auto id = space_.Find(setting)) memory_.Crashed(space_, *id);
    }
    if (entry->efficiency_known && curve_.efficiency().staleness_max() > 0) {
      HypothesisWeights prior_weights = curve_.efficiency().prior();
      for (size_t h = 0; h < kHypotheses; ++h)
        prior_weights[h] = (1 - kTrust) * prior_weights[h] + kTrust * entry->efficiency[h];
      curve_.efficiency().SetPrior(prior_weights);
    }
  }
}

Status Tuner::Absorb(const Report& report) {
  const auto reject = [&](const std::string& text) {
    ++rejected_;
    return Error(StatusCode::kInvalidArgument, "report ignored: " + text);
  };
  if (report.setting.size() != static_cast<size_t>(space_.knob_count()))
    return reject("its setting has not the knobs of the space");
  if (const std::string impossible = Impossible(report); !impossible.empty()) return reject(impossible);
  const auto id = space_.Find(report.setting);
  if (!report.ok) {
    if (!id) return reject("setting " + space_.Text(report.setting) + " is not in the search space");
    memory_.Crashed(space_, *id);
    progress_.Notice(report.time);
    return OkStatus();
  }
  if (report.seconds <= 0) return reject("a window must last longer than 0 s");
  if (progress_.IsOutOfOrder(report.time))
    return reject("it ends at " + std::to_string(report.time) + " s, before the last one at " +
                  std::to_string(progress_.last_time()) + " s");
  progress_.Absorb(report.time, report.seconds, report.steps);
  if (!id) return reject("setting " + space_.Text(report.setting) + " is not in the search space; its steps count");

  const double workers = space_.Value(*id, "workers", 1);
  const double staleness = staleness_.Of(*id, workers, report.staleness);
  const std::optional<double> loss = job_.goal.kind == GoalKind::kMetric ? report.metric : report.loss_mean;
  double value = loss.value_or(std::nan(""));
  if (job_.goal.kind == GoalKind::kMetric) value = progress_.LossOf(value);
  const bool has_loss = std::isfinite(value) && value > 0;
  const double windows = report.seconds / job_.window_seconds;
  if (!has_loss) {
    curve_.AbsorbSteps(report.steps, staleness);
  } else {
    curve_.Absorb({.time = report.time,
                   .seconds = report.seconds,
                   .updates = report.steps,
                   .loss = value,
                   .staleness = staleness});
  }
  constexpr double kSecondsPerHour = 3600;
  spent_ += pricing_.PerHour(*id) * report.seconds / kSecondsPerHour;
  // Pods are as full as they are, whatever else is in progress at this setting.
  memory_.Absorb(space_, *id, report.server_memory.value_or(-1), report.worker_memory.value_or(-1), windows);
  memory_.Ran(space_, *id);
  if (!report.during_change) AbsorbSpeed(report, *id);
  if (has_loss && !report.during_change) windows_since_probe_ += windows;
  return OkStatus();
}

// The prior becomes that of a job in which processes do with their time what was read last.
void Tuner::FollowTimes() {
  if (timing_.taken().empty()) return;
  constexpr uint64_t kSeed = 1;
  throughput_.SetPrior(std::make_shared<const StructuralPrior>(*prior_, space_, job_.mode, kSeed, timing_.taken()));
}

// Of a window in which nothing but training was in progress.
void Tuner::AbsorbSpeed(const Report& report, int id) {
  const double workers = space_.Value(id, "workers", 1), windows = report.seconds / job_.window_seconds;
  blocks_.Absorb({.setting = id,
                  .time = progress_.SinceStart(report.time),
                  .seconds = report.seconds,
                  .updates = std::max(report.steps, 0.5)});
  if (job_.parts.cpu)
    cpu_.Absorb(space_, id, {.throttled = report.worker_throttled, .use = report.worker_cpu},
                {.throttled = report.server_throttled, .use = report.server_cpu}, report.steps, report.seconds,
                windows);
  if (job_.parts.timing && job_.parts.structure) {
    timing_.Absorb(id, report.worker_compute, report.server_busy, windows);
    if (timing_.HasNews()) {
      timing_.Take();
      FollowTimes();
    }
  }
  staleness_.Absorb(id, workers, report.staleness);
  if (id == last_setting_) windows_here_ += windows;
  if (id == probe_setting_) probe_windows_ += windows;
}

Decision Tuner::Decide(double now, const Setting& current) {
  const double since_start = progress_.Advance(now);
  const auto found = current.size() == static_cast<size_t>(space_.knob_count()) ? space_.Find(current) : std::nullopt;
  const int here =
      found ? *found : (current.size() == static_cast<size_t>(space_.knob_count()) ? space_.Nearest(current) : 0);
  View view = Look(since_start, here);

  if (const auto design = NextOfStartDesign(view)) {
    Proposal proposal{.setting = *design};
    proposal.gain = GainOver(view, *design, view.current);
    const ChangeCost change = CostOfChange(space_, job_.costs, here, *design);
    proposal.cost = change.lost + job_.window_seconds;
    if (*design == here)
      return Finish(view, here, DecisionKind::kKeep, proposal,
                    {"", "the present setting is measured before others are tried"});
    return Finish(view, *design, DecisionKind::kTrial, proposal,
                  {"expected " + Text(proposal.gain), "a first look around, at a setting of medium size"});
  }
  if (const auto probe = NextOfProbe(view)) {
    const bool fewer =
        view.staleness[static_cast<size_t>(probe->setting)] < view.staleness[static_cast<size_t>(view.incumbent)];
    const std::string why =
        (fewer ? "a check that progress per update does not suffer from staleness at " + space_.Text(view.incumbent)
               : "a check that progress per update bears more staleness than at " + space_.Text(view.incumbent)) +
        ": knowing may save " + DurationText(probe->saving);
    return Finish(view, probe->setting, DecisionKind::kTrial, *probe, {"", why});
  }
  const Proposal trial = BestTrial(view);
  if (trial.setting >= 0 && trial.value > 0) {
    return Finish(view, trial.setting, DecisionKind::kTrial, trial,
                  WhyTrial(trial, space_.Text(view.incumbent), view.horizon));
  }
  Proposal move;
  const int target = Adopt(view, move);
  Why why;
  if (const auto gain = StillUncertain(view, target)) {
    const std::string kept = space_.Text(space_.setting(kept_setting_));
    why = {"it seems to make " + Text(*gain) + " progress per second against " + kept,
           "it is not certain yet which of this and " + kept + " is better; measured longer before one is kept"};
    return Finish(view, target, DecisionKind::kTrial, move, why);
  }
  if (const int spare = target == here ? WithoutIdleCores(view) : here; spare != here) {
    move.setting = spare;
    move.gain = GainOver(view, spare, here);
    return Finish(view, spare, DecisionKind::kKeep, move, {"", "its pods use far less CPU than their limits allow"});
  }
  constexpr double kShortWindows = 12;
  if (target == here && view.remaining && view.horizon < kShortWindows * job_.window_seconds) {
    why.reason = "the job ends in about " + DurationText(view.horizon) + ", too soon to gain from another change";
  } else if (target == here) {
    why.reason = blocks_.blocks().empty() ? "nothing is measured yet"
                                          : "no other setting is expected to save more than it costs to try";
  } else {
    const double collapse =
        curve_.efficiency().CollapseProbability(view.curve.weights, view.staleness[static_cast<size_t>(here)]);
    why = {"it makes " + Text(move.gain) + " progress per second",
           std::string(collapse > 0.3 ? "progress per update has fallen here; " : "") + DurationText(view.horizon) +
               " are left to gain from it"};
  }
  return Finish(view, target, DecisionKind::kKeep, move, why);
}

// A trial is worth what may come of it, so that one expected to be slower can be the best there is: that is said.
Tuner::Why Tuner::WhyTrial(const Proposal& trial, const std::string& over, double horizon) {
  std::string reason =
      "may save " + DurationText(trial.saving * horizon) + " of about " + DurationText(horizon) + " left";
  if (trial.gain.mean < 0)
    reason =
        "slower is likelier than faster, but so little is known of it that the chance is worth a look; it " + reason;
  return {"expected " + Text(trial.gain) + " over " + over, std::move(reason)};
}

void Tuner::SetEnding(double now, const Ending& ending) { progress_.SetEnding(now, ending); }

double Tuner::CollapseProbability() const {
  if (!looked_) return 0;
  const View view = Look(looked_->first, looked_->second);
  return curve_.efficiency().CollapseProbability(view.curve.weights, view.staleness[static_cast<size_t>(view.current)]);
}

Setting Tuner::Incumbent() const {
  if (looked_) return space_.setting(Look(looked_->first, looked_->second).incumbent);
  return space_.setting(space_.Nearest(job_.space.current.value_or(space_.setting(0))));
}

HistoryEntry Tuner::Summary() const {
  HistoryEntry entry{.signature = job_.signature, .best = Incumbent()};
  for (int k = 0; k < space_.knob_count(); ++k) entry.knobs.push_back(space_.knob_name(k));
  // Blocks of one setting as one; the longest measured ones are the most useful.
  std::vector<HistoryEntry::Speed> speeds;
  for (const Block& block : blocks_.blocks()) {
    if (block.source != 0) continue;
    const Setting& setting = space_.setting(block.setting);
    const auto known = std::find_if(speeds.begin(), speeds.end(), [&](const auto& s) { return s.setting == setting; });
    if (known == speeds.end()) {
      speeds.push_back({setting, block.log_seconds, block.updates, block.windows});
      continue;
    }
    const double windows = known->windows + block.windows;
    known->log_seconds += (block.log_seconds - known->log_seconds) * block.windows / windows;
    known->updates += block.updates;
    known->windows = windows;
  }
  std::sort(speeds.begin(), speeds.end(), [](const auto& a, const auto& b) { return a.windows > b.windows; });
  speeds.resize(std::min(speeds.size(), HistoryEntry::kSpeedsMax));
  entry.speeds = std::move(speeds);
  if (looked_ && curve_.efficiency().staleness_max() > 0) {
    entry.efficiency = Look(looked_->first, looked_->second).curve.weights;
    entry.efficiency_known = true;
  }
  for (const int id : memory_.crashed()) {
    if (entry.crashed.size() < HistoryEntry::kCrashedMax) entry.crashed.push_back(space_.setting(id));
  }
  return entry;
}

}  // namespace attune::tuner
