// Families of simulated jobs. The first group is the one that the tuner was first designed with, the second is our own,
// the third is a validation set: changes are judged by it after they were made.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/check.h"
#include "bench/tuning/family_base.h"

namespace attune::bench {
namespace {

uint64_t NameHash(const std::string& name) {  // FNV-1a: the same everywhere
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

// ---- families of the study ----
void Sum(JobModel& j, Base b, Random&) {
  b.norm = 1;
  UseBase(j, b);
}
void PNorm(JobModel& j, Base b, Random& r) {
  b.norm = Uniform(r, 2, 6);
  UseBase(j, b);
}
void Maximum(JobModel& j, Base b, Random&) {
  b.norm = 10;
  UseBase(j, b);
}
void Amdahl(JobModel& j, Base b, Random& r) {
  b.parallel = Uniform(r, 0.1, 0.99);
  b.cores = static_cast<int>(r.Between(1, 3));
  UseBase(j, b);
}
void SharedHost(JobModel& j, Base b, Random& r) {
  b.host_cores = LogUniform(r, 6, 24);
  UseBase(j, b);
}
void FanOut(JobModel& j, Base b, Random& r) {
  b.fan = LogUniform(r, 0.05, 0.3);
  b.pair = LogUniform(r, 5e-4, 4e-3);
  UseBase(j, b);
}
void Overload(JobModel& j, Base b, Random& r) {
  b.overload_at = Uniform(r, 1, 3);
  b.overload = Uniform(r, 0.5, 2);
  b.server = LogUniform(r, 0.2, 0.8);
  UseBase(j, b);
}
void QuotaPods(JobModel& j, Base b, Random& r) {
  const int most = static_cast<int>(r.Between(8, 16));
  j.allowed = [most](const Point& x) { return x.servers + x.workers <= most; };
  b.server = LogUniform(r, 0.2, 1.2);
  UseBase(j, b);
}
void QuotaCores(JobModel& j, Base b, Random& r) {
  const int most = static_cast<int>(r.Between(12, 32));
  j.allowed = [most](const Point& x) { return x.servers + x.workers * x.threads <= most; };
  UseBase(j, b);
}
void Staleness(JobModel& j, Base b, Random& r) {
  const double c = LogUniform(r, 0.02, 0.15);
  j.efficiency = [c](double z) { return 1 / (1 + c * z); };
  UseBase(j, b);
}
void BspNoiseScale(JobModel& j, Base b, Random& r) {
  j.mode = SyncMode::Bsp();
  const double scale = LogUniform(r, 6, 200);  // noise scale in batches of one worker
  j.efficiency = [scale](double z) { return (scale + 1) / (scale + 1 + z); };
  b.straggle = Uniform(r, 0.05, 0.35);
  UseBase(j, b);
}
void MemoryServers(JobModel& j, Base b, Random& r) {
  const double model = Uniform(r, 1.2, 3.5), worker = Uniform(r, 0.005, 0.03);
  j.server_memory = [=](const Point& x) { return 0.1 + model / x.servers + worker * x.workers; };
  UseBase(j, b);
}
void MemoryThreads(JobModel& j, Base b, Random& r) {
  const double thread = Uniform(r, 0.15, 0.3), base = Uniform(r, 0.15, 0.4), server = Uniform(r, 0, 0.03);
  j.worker_memory = [=](const Point& x) { return base + thread * x.threads + server * x.servers; };
  UseBase(j, b);
}
void SlowMachine(JobModel& j, Base b, Random& r) {
  b.slow_from = static_cast<int>(r.Between(4, 14));
  b.slowness = Uniform(r, 1.5, 5);
  if (r.Chance(0.5)) j.mode = SyncMode::Bsp();
  UseBase(j, b);
}
void Rack(JobModel& j, Base b, Random& r) {
  b.rack_from = static_cast<int>(r.Between(5, 13));
  b.rack = Uniform(r, 1, 6);
  UseBase(j, b);
}
void StepDrift(JobModel& j, Base b, Random& r) {
  Base later = b;
  later.server *= LogUniform(r, 0.3, 4);
  later.communication *= LogUniform(r, 0.5, 3);
  const double at = j.length_windows * Uniform(r, 0.15, 0.7);
  j.seconds_per_update = [b, later, at](const Point& x, double time) {
    return Stages(time < at ? b : later, x, false);
  };
}
void WalkDrift(JobModel& j, Base b, Random& r) {
  const double depth = Uniform(r, 0.1, 0.5), period = j.length_windows * Uniform(r, 0.2, 1),
               phase = Uniform(r, 0, 6.28);
  j.seconds_per_update = [=](const Point& x, double time) {
    Base now = b;
    now.server *= std::exp(depth * std::sin(6.28 * time / period + phase));
    return Stages(now, x, false) * std::exp(0.3 * depth * std::sin(6.28 * time / period * 1.7));
  };
}
void HeavyTails(JobModel& j, Base b, Random&) {
  j.heavy_share = 0.1;
  j.heavy_depth = 0.7;
  UseBase(j, b);
}
void Extreme(JobModel& j, Base b, Random& r) {
  if (r.Chance(0.5)) {  // one worker, few servers are best
    b.per_worker = LogUniform(r, 0.05, 0.2);
    b.fan = 0.2;
  } else {
    b.per_worker = b.pair = 0;
    b.server = 0.05;
    b.link = 0.002;
  }
  UseBase(j, b);
}
void Flat(JobModel& j, Base b, Random&) {
  b.constant = 3;
  UseBase(j, b);
}
void SteppedLoss(JobModel& j, Base b, Random& r) {
  LossTruth& loss = j.loss;
  loss.kind = LossTruth::Kind::kStepped;
  loss.tau = 0.06;
  loss.steps_at = {Uniform(r, 0.3, 0.5), Uniform(r, 0.6, 0.85)};
  loss.levels = {loss.floor + 0.5 * loss.drop, loss.floor + 0.2 * loss.drop, loss.floor + 0.05 * loss.drop};
  UseBase(j, b);
}
void FloorAbove(JobModel& j, Base b, Random&) {
  j.unreachable = true;
  j.efficiency = [](double) { return 1.0; };  // max_steps counts raw updates
  UseBase(j, b);
}
// Shapes of the recorded tables: s = a/w + a'/(w t) + b/p + c + d p/w with a knee where servers starve.
void Recorded(JobModel& j, Base, Random& r) {
  const int which = static_cast<int>(r.Below(3));
  const double a = std::array{0.4, 0.6, 0.5}[static_cast<size_t>(which)], threads = 0.5;
  const double server = std::array{0.12, 0.9, 1.4}[static_cast<size_t>(which)];
  const double fan = std::array{0.004, 0.01, 0.02}[static_cast<size_t>(which)];
  const double knee = std::array{3.5, 2.0, 1.0}[static_cast<size_t>(which)];
  if (which == 0) j.efficiency = [](double z) { return 1 / (1 + 0.0138 * z); };
  j.seconds_per_update = [=](const Point& x, double) {
    const double ratio = static_cast<double>(x.workers) / x.servers;
    const double starve = ratio > knee ? std::pow(ratio / knee, 1.3) : 1;
    return a / x.workers + threads / (x.workers * x.threads) + server / (12 * x.servers) * starve + 0.01 +
           fan * x.servers / x.workers;
  };
}
void LongLeads(JobModel& j, Base b, Random&) {
  j.window_seconds = 2;
  j.costs.pods = 15;
  UseBase(j, b);
}
// ---- our own ----
void QueueNetwork(JobModel& j, Base, Random& r) {
  const double link = LogUniform(r, 0.01, 0.08), server = LogUniform(r, 0.05, 0.6), skew = Uniform(r, 0, 0.5);
  const double parallel = Uniform(r, 0.5, 0.95);
  const auto network = [=](const Point& x) {
    return Network{1 - parallel + parallel / x.threads, link, server, kServersMax, skew};
  };
  j.seconds_per_update = [=](const Point& x, double) { return Queueing(x, network(x)); };
  j.times = [=](const Point& x) { return TimesOf(network(x), x); };
}
void Collapse(JobModel& j, Base b, Random& r) {
  const double at = Uniform(r, 3, 12);
  j.efficiency = [at](double z) { return z < at ? 1 / (1 + 0.005 * z) : 0.06; };
  b.per_worker = b.pair = 0;
  b.server = LogUniform(r, 0.05, 0.3);
  UseBase(j, b);
}
void SoftCollapse(JobModel& j, Base b, Random& r) {
  const double at = Uniform(r, 4, 12);
  j.efficiency = [at](double z) { return 1 / (1 + std::pow(z / at, 4)); };
  UseBase(j, b);
}
void CacheCliff(JobModel& j, Base b, Random& r) {
  const int fits = static_cast<int>(r.Between(2, 6));
  const double factor = Uniform(r, 1.5, 4);
  j.seconds_per_update = [=](const Point& x, double) {
    Base now = b;
    if (x.servers < fits) now.server *= factor;
    return Stages(now, x, false);
  };
}
void Periodic(JobModel& j, Base b, Random& r) {
  const double depth = Uniform(r, 0.1, 0.4), period = Uniform(r, 15, 60);
  j.seconds_per_update = [=](const Point& x, double time) {
    const bool busy = std::fmod(time, period) < 0.3 * period;
    Base now = b;
    if (busy) now.server *= 1 + 3 * depth;
    return Stages(now, x, false) * (busy ? 1 + depth : 1);
  };
}
void Numa(JobModel& j, Base b, Random& r) {
  const double penalty = Uniform(r, 1.1, 1.6);
  b.cores = 4;
  j.seconds_per_update = [=](const Point& x, double) { return Stages(b, x, false) * (x.threads > 2 ? penalty : 1.0); };
}
void Incast(JobModel& j, Base b, Random& r) {
  const int at = static_cast<int>(r.Between(6, 14));
  const double cost = Uniform(r, 0.02, 0.1);
  j.seconds_per_update = [=](const Point& x, double) {
    return Stages(b, x, false) + (x.workers > at ? cost * (x.workers - at) / x.servers : 0);
  };
}

// ---- validation ----
void UniversalScaling(JobModel& j, Base, Random& r) {  // Gunther's law in workers and in servers
  const double sigma = LogUniform(r, 0.01, 0.3), kappa = LogUniform(r, 1e-4, 2e-2), tsigma = Uniform(r, 0.05, 0.8);
  const double server = LogUniform(r, 0.1, 1), ssigma = Uniform(r, 0.02, 0.4);
  j.seconds_per_update = [=](const Point& x, double) {
    const double w = x.workers / (1 + sigma * (x.workers - 1) + kappa * x.workers * (x.workers - 1));
    const double t = x.threads / (1 + tsigma * (x.threads - 1));
    const double p = x.servers / (1 + ssigma * (x.servers - 1));
    const double worker_rate = w * (0.3 + 0.7 * t), server_rate = p / server * 2;
    return 1 / worker_rate + 1 / server_rate;
  };
}
void SkewedQueues(JobModel& j, Base, Random& r) {
  const double link = LogUniform(r, 0.005, 0.05), server = LogUniform(r, 0.2, 1.2), skew = Uniform(r, 0.5, 1.2);
  j.heavy_share = 0.05;
  j.heavy_depth = 0.5;
  j.seconds_per_update = [=](const Point& x, double) {
    return Queueing(x, {0.4 + 0.6 / x.threads, link, server, kServersMax, skew}) * (1 + 0.01 * x.servers);
  };
}
void BurstThrottle(JobModel& j, Base b, Random& r) {  // CPU credits run out: many threads slow down later
  const double credits = Uniform(r, 40, 200), factor = Uniform(r, 1.3, 2.5);
  j.seconds_per_update = [=](const Point& x, double time) {
    const double burn = std::max(0.0, x.threads - 2.0) + 0.1;
    return Stages(b, x, false) * (time * burn > credits && x.threads > 2 ? factor : 1);
  };
}
void MomentumStaleness(JobModel& j, Base b, Random& r) {  // efficiency falls faster than 1/(1+cz), and rises at first
  const double c = LogUniform(r, 0.002, 0.02), lift = Uniform(r, 0, 0.1);
  j.efficiency = [=](double z) { return (1 + lift * std::min(z, 2.0)) * std::exp(-c * std::pow(z, 1.5)); };
  UseBase(j, b);
}
void WavyNeighbors(JobModel& j, Base b, Random& r) {  // other tenants: slow correlated noise
  j.noise_memory = Uniform(r, 0.5, 0.9);
  j.speed_noise = Uniform(r, 0.05, 0.1);
  b.host_cores = LogUniform(r, 10, 40);
  UseBase(j, b);
}
void TreeReduce(JobModel& j, Base b, Random& r) {  // pushes combine in a tree: steps at powers of two
  const double level = LogUniform(r, 0.01, 0.15);
  j.seconds_per_update = [=](const Point& x, double) {
    const double depth = std::ceil(std::log2(static_cast<double>(x.workers) / x.servers + 1));
    return Stages(b, x, false) + level * depth / x.workers;
  };
}
void LateCollapse(JobModel& j, Base b, Random& r) {
  const double at = Uniform(r, 5, 13), rest = Uniform(r, 0.03, 0.3);
  j.efficiency = [=](double z) { return rest + (1 - rest) / (1 + std::exp((z - at) * 1.5)); };
  UseBase(j, b);
}
void Everything(JobModel& j, Base b, Random& r) {
  b.host_cores = LogUniform(r, 10, 50);
  b.overload_at = Uniform(r, 2, 4);
  b.overload = 1;
  const double c = LogUniform(r, 0.005, 0.08), model = Uniform(r, 0.8, 2.5), thread = Uniform(r, 0.05, 0.2);
  j.efficiency = [c](double z) { return 1 / (1 + c * z); };
  j.server_memory = [=](const Point& x) { return 0.1 + model / x.servers + 0.01 * x.workers; };
  j.worker_memory = [=](const Point& x) { return 0.2 + thread * x.threads; };
  j.heavy_share = 0.05;
  j.heavy_depth = 0.6;
  const int most = static_cast<int>(r.Between(12, 20));
  j.allowed = [most](const Point& x) { return x.servers + x.workers <= most; };
  UseBase(j, b);
}

// ---- recorded from real runs of the examples (recorded/) ----
// Loss curve, its noise and what staleness costs are as seen; speed is of the common ground. The job ends somewhere on
// the second half of the curve.
void UseRecorded(JobModel& j, const Base& b, Random& r, const char* example) {
  const StatusOr<RecordedExample> read = ReadRecordedExample(example);
  ATTUNE_CHECK(read.ok()) << ToString(read.status());
  const RecordedLoss& curve = read->loss;
  j.loss.kind = LossTruth::Kind::kRecorded;
  j.loss.recorded = curve;
  const double end = curve.steps.back() * Uniform(r, 0.5, 1);
  j.loss.tau = 1 / end;  // of the job's length; Finish() makes steps of it
  constexpr double kStepsPerWindow = 100;
  j.loss_noise = std::sqrt(curve.step_variance / kStepsPerWindow) / curve.At(end);
  // Updates needed, relative to 1 worker; linear between and beyond what was recorded.
  std::vector<std::pair<double, double>> costs = {{0, 1}, {1, read->async_cost[0]}, {3, read->async_cost[1]}};
  if (r.Chance(0.3)) {
    j.mode = SyncMode::Bsp();
    costs = {{0, 1}, {3, read->bsp_cost[0]}};
  }
  j.efficiency = [costs](double z) {
    size_t i = 1;
    while (i + 1 < costs.size() && z > costs[i].first) ++i;
    const auto [from, low] = costs[i - 1];
    const auto [to, high] = costs[i];
    return 1 / std::max(1.0, low + (high - low) * (z - from) / (to - from));
  };
  UseBase(j, b);
}
void RecordedWord2vec(JobModel& j, Base b, Random& r) { UseRecorded(j, b, r, "word2vec"); }
void RecordedPackageGraph(JobModel& j, Base b, Random& r) { UseRecorded(j, b, r, "package-graph"); }
void RecordedNextCharacter(JobModel& j, Base b, Random& r) { UseRecorded(j, b, r, "next-character"); }

constexpr std::array kDevelopment = {Family{"sum", Sum},
                                     Family{"p-norm", PNorm},
                                     Family{"maximum", Maximum},
                                     Family{"amdahl", Amdahl},
                                     Family{"shared-host", SharedHost},
                                     Family{"fan-out", FanOut},
                                     Family{"overload", Overload},
                                     Family{"quota-pods", QuotaPods},
                                     Family{"quota-cores", QuotaCores},
                                     Family{"staleness", Staleness},
                                     Family{"bsp-noise-scale", BspNoiseScale},
                                     Family{"memory-servers", MemoryServers},
                                     Family{"memory-threads", MemoryThreads},
                                     Family{"slow-machine", SlowMachine},
                                     Family{"rack", Rack},
                                     Family{"step-drift", StepDrift},
                                     Family{"walk-drift", WalkDrift},
                                     Family{"heavy-tails", HeavyTails},
                                     Family{"extreme", Extreme},
                                     Family{"flat", Flat},
                                     Family{"stepped-loss", SteppedLoss},
                                     Family{"floor-above", FloorAbove},
                                     Family{"recorded", Recorded},
                                     Family{"long-leads", LongLeads},
                                     Family{"queue-network", QueueNetwork},
                                     Family{"collapse", Collapse},
                                     Family{"soft-collapse", SoftCollapse},
                                     Family{"cache-cliff", CacheCliff},
                                     Family{"periodic", Periodic},
                                     Family{"numa", Numa},
                                     Family{"incast", Incast},
                                     Family{"recorded-word2vec", RecordedWord2vec},
                                     Family{"recorded-package-graph", RecordedPackageGraph},
                                     Family{"recorded-next-character", RecordedNextCharacter}};
constexpr std::array kHoldOut = {
    Family{"universal-scaling", UniversalScaling}, Family{"skewed-queues", SkewedQueues},
    Family{"burst-throttle", BurstThrottle},       Family{"momentum-staleness", MomentumStaleness},
    Family{"wavy-neighbors", WavyNeighbors},       Family{"tree-reduce", TreeReduce},
    Family{"late-collapse", LateCollapse},         Family{"everything", Everything}};

std::vector<std::string> NamesOf(std::span<const Family> families) {
  std::vector<std::string> names;
  for (const Family& family : families) names.emplace_back(family.name);
  return names;
}

const Family* Find(const std::string& name) {
  for (const std::span<const Family> set : {std::span<const Family>(kDevelopment), std::span<const Family>(kHoldOut),
                                            ResourceFamilies(), ResourceHoldOutFamilies()}) {
    for (const Family& one : set) {
      if (name == one.name) return &one;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> DevelopmentFamilies() { return NamesOf(kDevelopment); }
std::vector<std::string> HoldOutFamilies() { return NamesOf(kHoldOut); }
std::vector<std::string> ResourceFamilyNames() { return NamesOf(ResourceFamilies()); }
std::vector<std::string> ResourceHoldOutFamilyNames() { return NamesOf(ResourceHoldOutFamilies()); }

JobModel MakeJob(const std::string& family, uint64_t seed, const JobOptions& options) {
  const Family* found = Find(family);
  Random random(SplitMix64(seed * 1000 + family.size()) ^ NameHash(family));
  JobModel job = RandomJob(family, random);
  job.seed = seed;
  if (options.windows > 0) job.length_windows = options.windows;
  job.loss_goal = !options.steps_goal;
  job.objective.kind = options.objective;
  const Base base = RandomBase(random);
  if (found != nullptr) found->make(job, base, random);
  Random errors(SplitMix64(seed) ^ NameHash(family));  // of its own: the draws above stay what they were
  job.messages_counted = errors.Uniform();
  job.busy_bias = Uniform(errors, 0.85, 1.15);
  if (!job.allowed(job.start)) job.start = job.Smallest();
  job.Finish();
  return job;
}

}  // namespace attune::bench
