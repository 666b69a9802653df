#include "operator/tuner/models/random_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace attune::tuner {
namespace {

double LogUniform(Random& random, double low, double high) { return low * std::pow(high / low, random.Uniform()); }
double Uniform(Random& random, double low, double high) { return low + (high - low) * random.Uniform(); }

double Slowed(double cores) { return 1 / std::min(cores, 1.0); }

// Memory limits are modeled, too: they change no speed.
bool IsModeled(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "servers",           "workers",           "threads",           "slack",
      "worker_millicores", "server_millicores", "worker_memory_mib", "server_memory_mib"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

CoreUse RandomUse(Random& random, int most_millicores) {
  CoreUse use;
  use.own_threads = LogUniform(random, 1, std::max(2.0, 2e-3 * most_millicores));
  use.memory_bound = random.Chance(0.5) ? Uniform(random, 0, 0.6) : 0;
  use.messages = random.Uniform();
  return use;
}

}  // namespace

double CoreUse::Compute(double parallel, double threads, double cores) const {
  constexpr double kSharp = 6;  // of the bend where the quota begins to bind
  const double amdahl = 1 - parallel + parallel / std::max(threads, 0.5);
  const double bound = std::pow(std::pow(amdahl, kSharp) + std::pow(cores, -kSharp), 1 / kSharp);
  return memory_bound * Slowed(cores) + (1 - memory_bound) * bound;
}

double CoreUse::Message(double cores) const { return 1 - messages + messages * Slowed(cores); }

RandomModel::RandomModel(const SearchSpace& space, SyncMode mode, Random& random) : space_(space), mode_(mode) {
  const int workers = Most("workers"), servers = Most("servers"), threads = Most("threads");
  parallel_ = Uniform(random, 0.3, 0.99);
  thread_cores_ = LogUniform(random, 1, 2.5 * threads);
  thread_fall_ = Uniform(random, 0, 0.7);
  communication_ = LogUniform(random, 0.005, 1);
  fan_out_ = LogUniform(random, 0.001, 0.1);
  server_ = LogUniform(random, 0.01, 2);
  link_ = random.Chance(0.25) ? LogUniform(random, 1.0 / (4 * workers), 0.5) : 0;
  constant_ = LogUniform(random, 0.0005, 0.1);
  per_worker_ = LogUniform(random, 1e-5, 0.01) * (random.Chance(0.6) ? 1 : 0);
  per_pair_ = LogUniform(random, 1e-5, 0.003) * (random.Chance(0.6) ? 1 : 0);
  norm_ = LogUniform(random, 1, 10);
  straggle_ = Uniform(random, 0, 0.35);
  host_cores_ = random.Chance(0.35) ? LogUniform(random, 2, 1.5 * (servers + workers * threads)) : 1e9;
  slow_from_ = random.Chance(0.3) ? static_cast<int>(random.Between(2, std::max(2, workers))) : workers + 1;
  slowness_ = Uniform(random, 1.5, 5);
  overload_at_ = random.Chance(0.3) ? LogUniform(random, 0.5, std::max(1.0, static_cast<double>(workers))) : 1e9;
  overload_ = Uniform(random, 0.2, 2);
  for (int k = 0; k < space.knob_count(); ++k) {
    const std::string& name = space.knob_name(k);
    curvature_.push_back(IsModeled(name) ? 0 : std::abs(random.Normal()));
    optimum_.push_back(Uniform(random, -0.3, 1.3));
  }
  // Drawn last: spaces without these knobs keep their models.
  worker_cores_known_ = space.KnobIndex("worker_millicores").has_value();
  server_cores_known_ = space.KnobIndex("server_millicores").has_value();
  if (worker_cores_known_) worker_use_ = RandomUse(random, Most("worker_millicores"));
  if (server_cores_known_) server_use_ = RandomUse(random, Most("server_millicores"));
  own_threads_ = worker_cores_known_ && !space.KnobIndex("threads");
}

RandomModel::Stages RandomModel::StagesAt(int id) const {
  const double w = space_.Value(id, "workers", 1), p = space_.Value(id, "servers", 1);
  const double t = own_threads_ ? worker_use_.own_threads : space_.Value(id, "threads", 1);
  const double effective =
      t <= thread_cores_ || own_threads_ ? t : thread_cores_ * std::pow(thread_cores_ / t, thread_fall_);
  const double worker_cores = Cores(worker_cores_known_, id, "worker_millicores");
  const double server_cores = Cores(server_cores_known_, id, "server_millicores");
  const double busy = p * std::min(1.0, server_cores) + w * std::min(effective, worker_cores);
  const double crowd = std::max(1.0, busy / host_cores_);
  Stages stages;
  stages.compute = (worker_cores_known_ ? worker_use_.Compute(parallel_, effective, worker_cores)
                                        : 1 - parallel_ + parallel_ / std::max(effective, 0.5)) *
                   crowd;
  stages.messages = communication_ * (worker_cores_known_ ? worker_use_.Message(worker_cores) : 1);
  double cycle = stages.compute + stages.messages + fan_out_ * p;
  // Any bound on the lead brings all to the pace of a worker that is slow for good; chance delays are waited for the
  // less, the further the others may run ahead meanwhile.
  const int slack = space_.Value(id, "slack", mode_ == SyncMode::Bsp() ? 0 : kSlackAsync);
  const bool bounded = slack < kSlackAsync;
  double workers = w;
  if (w >= slow_from_) {
    if (bounded) {
      cycle *= slowness_;
    } else {
      workers = slow_from_ - 1 + (w - slow_from_ + 1) / slowness_;
    }
  }
  if (bounded) cycle *= 1 + straggle_ * std::sqrt(2 * std::log(w)) / (1 + slack);
  const double service =
      server_cores_known_ ? server_use_.Compute(1, server_use_.own_threads, server_cores) * server_use_.own_threads : 1;
  stages.server = server_ * service / p * crowd * (1 + overload_ * std::max(0.0, w / p / overload_at_ - 1));
  const double overlapped =
      std::pow(std::pow(cycle / workers, norm_) + std::pow(stages.server, norm_) + std::pow(link_, norm_), 1 / norm_);
  stages.seconds = overlapped + constant_ + per_worker_ * w + per_pair_ * w * p;
  return stages;
}

double RandomModel::LogSeconds(int id) const {
  double log_seconds = std::log(StagesAt(id).seconds);
  for (int k = 0; k < space_.knob_count(); ++k) {
    if (curvature_[static_cast<size_t>(k)] == 0) continue;
    const double away = space_.Position(id, k) - optimum_[static_cast<size_t>(k)];
    log_seconds += curvature_[static_cast<size_t>(k)] * away * away;
  }
  return log_seconds;
}

TimeShares RandomModel::Shares(int id) const {
  const Stages stages = StagesAt(id);
  const double turn = stages.seconds * space_.Value(id, "workers", 1);  // of one worker, its waits included
  const auto share = [](double part, double whole) { return std::min(1.0, part / whole); };
  return {.compute = share(stages.compute, turn),
          .compute_and_messages = share(stages.compute + stages.messages, turn),
          .busy = share(stages.server, stages.seconds)};
}

double RandomModel::Cores(bool known, int id, std::string_view knob) const {
  constexpr double kLeast = 0.01;
  return known ? std::max(kLeast, 1e-3 * space_.Value(id, knob, 1000)) : 1e9;
}

int RandomModel::Most(std::string_view name) const {
  const auto knob = space_.KnobIndex(name);
  return knob ? std::max(1, space_.description().knobs[static_cast<size_t>(*knob)].high) : 1;
}

}  // namespace attune::tuner
