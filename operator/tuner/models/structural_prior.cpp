#include "operator/tuner/models/structural_prior.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace attune::tuner {
namespace {

constexpr double kLengthScale = 1.5;  // octaves

double LogUniform(Random& random, double low, double high) { return low * std::pow(high / low, random.Uniform()); }
double Uniform(Random& random, double low, double high) { return low + (high - low) * random.Uniform(); }

// How a random job uses the cores it is given, where these are knobs: what a thread computes is done by one core at
// most, what waits for memory gains nothing from more than one, and a limit below one core slows all of it (Amdahl's
// law with a memory-bound share, under a quota of CPU time).
struct CoreUse {
  double own_threads = 1;  // of a program whose threads are no knob
  double memory_bound = 0;
  double messages = 0;  // share of the time for messages that needs the CPU

  double Compute(double parallel, double threads, double cores) const {
    constexpr double kSharp = 6;  // of the bend where the quota begins to bind
    const double amdahl = 1 - parallel + parallel / std::max(threads, 0.5);
    const double bound = std::pow(std::pow(amdahl, kSharp) + std::pow(cores, -kSharp), 1 / kSharp);
    return memory_bound * Slowed(cores) + (1 - memory_bound) * bound;
  }
  static double Slowed(double cores) { return 1 / std::min(cores, 1.0); }
  double Message(double cores) const { return 1 - messages + messages * Slowed(cores); }
};

// One random parameter server job. Times are relative to the compute time of one worker with one thread.
class RandomModel {
 public:
  RandomModel(const SearchSpace& space, SyncMode mode, Random& random) : space_(space), mode_(mode) {
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
      curvature_.push_back(IsModelled(name) ? 0 : std::abs(random.Normal()));
      optimum_.push_back(Uniform(random, -0.3, 1.3));
    }
    // Drawn last: spaces without these knobs keep their models.
    worker_cores_known_ = space.KnobIndex("worker_millicores").has_value();
    server_cores_known_ = space.KnobIndex("server_millicores").has_value();
    if (worker_cores_known_) worker_use_ = RandomUse(random, Most("worker_millicores"));
    if (server_cores_known_) server_use_ = RandomUse(random, Most("server_millicores"));
    own_threads_ = worker_cores_known_ && !space.KnobIndex("threads");
  }

  double LogSeconds(int id) const {
    const double w = space_.Value(id, "workers", 1), p = space_.Value(id, "servers", 1);
    const double t = own_threads_ ? worker_use_.own_threads : space_.Value(id, "threads", 1);
    const double effective =
        t <= thread_cores_ || own_threads_ ? t : thread_cores_ * std::pow(thread_cores_ / t, thread_fall_);
    const double worker_cores = Cores(worker_cores_known_, id, "worker_millicores");
    const double server_cores = Cores(server_cores_known_, id, "server_millicores");
    const double busy = p * std::min(1.0, server_cores) + w * std::min(effective, worker_cores);
    const double crowd = std::max(1.0, busy / host_cores_);
    const double compute = worker_cores_known_ ? worker_use_.Compute(parallel_, effective, worker_cores)
                                               : 1 - parallel_ + parallel_ / std::max(effective, 0.5);
    const double messages = worker_cores_known_ ? worker_use_.Message(worker_cores) : 1;
    double cycle = compute * crowd + communication_ * messages + fan_out_ * p;
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
    const double service = server_cores_known_
                               ? server_use_.Compute(1, server_use_.own_threads, server_cores) * server_use_.own_threads
                               : 1;
    const double server = server_ * service / p * crowd * (1 + overload_ * std::max(0.0, w / p / overload_at_ - 1));
    const double overlapped =
        std::pow(std::pow(cycle / workers, norm_) + std::pow(server, norm_) + std::pow(link_, norm_), 1 / norm_);
    double log_seconds = std::log(overlapped + constant_ + per_worker_ * w + per_pair_ * w * p);
    for (int k = 0; k < space_.knob_count(); ++k) {
      if (curvature_[static_cast<size_t>(k)] == 0) continue;
      const double away = space_.Position(id, k) - optimum_[static_cast<size_t>(k)];
      log_seconds += curvature_[static_cast<size_t>(k)] * away * away;
    }
    return log_seconds;
  }

 private:
  // Memory limits are: they change no speed.
  static bool IsModelled(std::string_view name) {
    constexpr std::string_view kNames[] = {
        "servers",           "workers",           "threads",           "slack",
        "worker_millicores", "server_millicores", "worker_memory_mib", "server_memory_mib"};
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  }
  static CoreUse RandomUse(Random& random, int most_millicores) {
    CoreUse use;
    use.own_threads = LogUniform(random, 1, std::max(2.0, 2e-3 * most_millicores));
    use.memory_bound = random.Chance(0.5) ? Uniform(random, 0, 0.6) : 0;
    use.messages = random.Uniform();
    return use;
  }
  double Cores(bool known, int id, std::string_view knob) const {
    constexpr double kLeast = 0.01;
    return known ? std::max(kLeast, 1e-3 * space_.Value(id, knob, 1000)) : 1e9;
  }
  int Most(std::string_view name) const {
    const auto knob = space_.KnobIndex(name);
    return knob ? std::max(1, space_.description().knobs[static_cast<size_t>(*knob)].high) : 1;
  }

  const SearchSpace& space_;
  SyncMode mode_;
  double parallel_, thread_cores_, thread_fall_, communication_, fan_out_, server_, link_, constant_, per_worker_;
  bool worker_cores_known_ = false, server_cores_known_ = false, own_threads_ = false;
  CoreUse worker_use_, server_use_;
  double per_pair_, norm_, straggle_, host_cores_, slowness_, overload_at_, overload_;
  int slow_from_;
  std::vector<double> curvature_, optimum_;
};

float Matern(const SearchSpace& space, int a, int b) {
  double square = 0;
  for (int k = 0; k < space.knob_count(); ++k) {
    const double difference = (space.Coordinate(a, k) - space.Coordinate(b, k)) / kLengthScale;
    square += difference * difference;
  }
  const double r = std::sqrt(5 * square);
  return static_cast<float>((1 + r + r * r / 3) * std::exp(-r));
}

}  // namespace

StructuralPrior::StructuralPrior(const SearchSpace& space, SyncMode mode, uint64_t seed, int draws)
    : size_(space.size()), mean_(static_cast<size_t>(space.size())) {
  Random random(seed);
  Eigen::MatrixXf logs(size_, draws);
  for (int draw = 0; draw < draws; ++draw) {
    const RandomModel model(space, mode, random);
    for (int id = 0; id < size_; ++id) logs(id, draw) = static_cast<float>(model.LogSeconds(id));
    logs.col(draw).array() -= logs.col(draw).mean();
  }
  const Eigen::VectorXf mean = logs.rowwise().mean();
  for (int id = 0; id < size_; ++id) mean_[static_cast<size_t>(id)] = mean(id);
  logs.colwise() -= mean;
  const auto n = static_cast<size_t>(size_);
  structure_.assign(n * n, 0);
  Eigen::Map<Eigen::MatrixXf> structure(structure_.data(), size_, size_);
  structure.selfadjointView<Eigen::Lower>().rankUpdate(logs, 1.0F / static_cast<float>(draws));
  structure.triangularView<Eigen::StrictlyUpper>() = structure.transpose();
  matern_.resize(n * n);
  for (int a = 0; a < size_; ++a) {
    for (int b = 0; b <= a; ++b) {
      const float value = Matern(space, a, b);
      matern_[static_cast<size_t>(a) * n + static_cast<size_t>(b)] = value;
      matern_[static_cast<size_t>(b) * n + static_cast<size_t>(a)] = value;
    }
  }
}

std::shared_ptr<const StructuralPrior> PriorCache::Get(const SearchSpace& space, SyncMode mode) {
  std::string key = mode == SyncMode::Bsp() ? "bsp" : "async";
  for (int k = 0; k < space.knob_count(); ++k) {
    const KnobRange& knob = space.description().knobs[static_cast<size_t>(k)];
    key += ',' + knob.name + ':' + std::to_string(knob.low) + ':' + std::to_string(knob.high);
  }
  for (int id = 0; id < space.size(); ++id) {
    key += ';';
    for (const int value : space.setting(id)) key += std::to_string(value) + ' ';
  }
  Entry& entry = entries_[key];
  entry.used = ++clock_;
  if (entry.prior == nullptr) entry.prior = std::make_shared<StructuralPrior>(space, mode, /*seed=*/1);
  auto prior = entry.prior;
  if (entries_.size() > kPriorsMax) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  return prior;
}

}  // namespace attune::tuner
