#include "operator/tuner/belief/evidence.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

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

// What a report is of, and whether it can be true; empty: it may.
std::string WhyNot(const Report& report, const SearchSpace& space) {
  if (report.setting.size() != static_cast<size_t>(space.knob_count()))
    return "its setting has not the knobs of the space";
  return Impossible(report);
}

}  // namespace

StatusOr<Evidence> Evidence::Create(JobDescription job, PriorCache& priors) {
  RETURN_IF_ERROR(CheckJob(job));
  ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(job.space));
  auto prior = priors.Get(space, job.mode);
  return Evidence(std::move(job), std::move(space), std::move(prior));
}

Evidence::Evidence(JobDescription job, SearchSpace space, std::shared_ptr<const StructuralPrior> prior)
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
  int source = 0;
  for (const HistoryEntry* entry : job_.history.Similar(job_.signature, knobs)) TakeUp(*entry, ++source);
}

void Evidence::TakeUp(const HistoryEntry& entry, int source) {
  constexpr double kTrust = 0.7;  // in what similar jobs found out about efficiency
  for (const HistoryEntry::Speed& speed : entry.speeds) {
    if (const auto id = space_.Find(speed.setting))
      blocks_.AddHistory(*id, source, speed.log_seconds, speed.updates, speed.windows);
  }
  for (const Setting& setting : entry.crashed) {
    if (const auto id = space_.Find(setting)) memory_.Crashed(space_, *id);
  }
  if (!entry.efficiency_known || curve_.efficiency().staleness_max() <= 0) return;
  HypothesisWeights weights = curve_.efficiency().prior();
  for (size_t h = 0; h < kHypotheses; ++h) weights[h] = (1 - kTrust) * weights[h] + kTrust * entry.efficiency[h];
  curve_.efficiency().SetPrior(weights);
}

Status Evidence::Absorb(const Report& report) {
  const auto reject = [](const std::string& text) {
    return Error(StatusCode::kInvalidArgument, "report ignored: " + text);
  };
  if (const std::string why = WhyNot(report, space_); !why.empty()) return reject(why);
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

  AbsorbLoss(report, *id);
  constexpr double kSecondsPerHour = 3600;
  spent_ += pricing_.PerHour(*id) * report.seconds / kSecondsPerHour;
  // Pods are as full as they are, whatever else is in progress at this setting.
  memory_.Absorb(space_, *id, report.server_memory.value_or(-1), report.worker_memory.value_or(-1),
                 report.seconds / job_.window_seconds);
  memory_.Ran(space_, *id);
  if (!report.during_change) AbsorbSpeed(report, *id);
  return OkStatus();
}

std::optional<double> Evidence::LossIn(const Report& report) const {
  const bool is_metric = job_.goal.kind == GoalKind::kMetric;
  const std::optional<double> reported = is_metric ? report.metric : report.loss_mean;
  if (!reported) return std::nullopt;
  const double loss = is_metric ? progress_.LossOf(*reported) : *reported;
  return std::isfinite(loss) && loss > 0 ? std::optional(loss) : std::nullopt;
}

void Evidence::AbsorbLoss(const Report& report, int id) {
  const double staleness = staleness_.Of(id, space_.Value(id, "workers", 1), report.staleness);
  const auto loss = LossIn(report);
  if (!loss) return curve_.AbsorbSteps(report.steps, staleness);
  curve_.Absorb(
      {.time = report.time, .seconds = report.seconds, .updates = report.steps, .loss = *loss, .staleness = staleness});
}

// The prior becomes that of a job in which processes do with their time what was read last.
void Evidence::FollowTimes() {
  if (timing_.taken().empty()) return;
  constexpr uint64_t kSeed = 1;
  throughput_.SetPrior(std::make_shared<const StructuralPrior>(*prior_, space_, job_.mode, kSeed, timing_.taken()));
}

// Of a window in which nothing but training was in progress.
void Evidence::AbsorbSpeed(const Report& report, int id) {
  const double windows = report.seconds / job_.window_seconds;
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
  staleness_.Absorb(id, space_.Value(id, "workers", 1), report.staleness);
}

double Evidence::ExpectedStaleness(int setting) const {
  return staleness_.Expected(setting, space_.Value(setting, "workers", 1));
}

JobDescription Evidence::job_now() const {
  JobDescription job = job_;
  job.goal = progress_.goal();
  return job;
}

HistoryEntry Evidence::Summary() const {
  HistoryEntry entry{.signature = job_.signature};
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
  for (const int id : memory_.crashed()) {
    if (entry.crashed.size() < HistoryEntry::kCrashedMax) entry.crashed.push_back(space_.setting(id));
  }
  return entry;
}

Evidence::Dump Evidence::Save() const {
  return {.blocks = blocks_.Save(),
          .curve = curve_.Save(),
          .efficiency_prior = curve_.efficiency().prior(),
          .memory = memory_.Save(),
          .cpu = cpu_.entries(),
          .timing = timing_.Save(),
          .staleness = staleness_.Save(),
          .progress = progress_.Save(),
          .spent = spent_};
}

void Evidence::Load(Dump dump) {
  blocks_.Load(std::move(dump.blocks));
  curve_.Load(std::move(dump.curve));
  curve_.efficiency().SetPrior(dump.efficiency_prior);
  memory_.Load(std::move(dump.memory));
  cpu_.Load(std::move(dump.cpu));
  timing_.Load(std::move(dump.timing));
  FollowTimes();
  staleness_.Load(std::move(dump.staleness));
  progress_.Load(dump.progress);
  spent_ = dump.spent;
}

}  // namespace attune::tuner
