#include "bench/tuning/family_base.h"

#include <algorithm>
#include <array>

namespace attune::bench {

double LogUniform(Random& r, double low, double high) { return low * std::pow(high / low, r.Uniform()); }
double Uniform(Random& r, double low, double high) { return low + (high - low) * r.Uniform(); }

namespace {

struct Cycle {
  double compute = 0, server = 0, seconds = 0;
};

Cycle CycleOf(const Base& b, const Point& x, bool bsp) {
  const double t = std::min(x.threads, b.cores) * (x.threads > b.cores ? 0.9 : 1.0);
  const double load = (x.servers + x.workers * t) / b.host_cores;
  const double crowd = load > 1 ? std::pow(load, 1.1) : 1;
  const double compute = (1 - b.parallel + b.parallel / t) * crowd;
  double cycle = compute + b.communication + b.fan * x.servers;
  if (x.workers >= b.rack_from) cycle += b.rack * b.communication;
  double workers = x.workers;
  if (x.workers >= b.slow_from) {
    if (bsp)
      cycle *= b.slowness;
    else
      workers = x.workers - 1 + 1 / b.slowness;
  }
  if (bsp) cycle *= 1 + b.straggle * std::sqrt(2 * std::log(static_cast<double>(x.workers)));
  double server = b.server / x.servers * std::sqrt(crowd);
  const double ratio = static_cast<double>(x.workers) / x.servers;
  if (ratio > b.overload_at) server *= 1 + b.overload * (ratio / b.overload_at - 1);
  const double overlapped =
      std::pow(std::pow(cycle / workers, b.norm) + std::pow(server, b.norm) + std::pow(b.link, b.norm), 1 / b.norm);
  return {compute, server, overlapped + b.constant + b.per_worker * x.workers + b.pair * x.workers * x.servers};
}

}  // namespace

double Stages(const Base& b, const Point& x, bool bsp) { return CycleOf(b, x, bsp).seconds; }

TimeTruth TimesOf(const Base& b, const Point& x, bool bsp) {
  const Cycle cycle = CycleOf(b, x, bsp);
  const double turn = cycle.seconds * x.workers;
  return {cycle.compute / turn, b.communication / turn, cycle.server / cycle.seconds};
}

Base RandomBase(Random& r) {
  Base b;
  b.parallel = Uniform(r, 0.4, 0.95);
  b.communication = LogUniform(r, 0.03, 0.6);
  b.fan = LogUniform(r, 0.002, 0.06);
  b.server = LogUniform(r, 0.05, 0.8);
  b.link = LogUniform(r, 0.005, 0.06);
  b.constant = LogUniform(r, 0.002, 0.03);
  b.per_worker = r.Chance(0.5) ? LogUniform(r, 1e-4, 4e-3) : 0;
  b.pair = r.Chance(0.5) ? LogUniform(r, 5e-5, 1e-3) : 0;
  b.norm = LogUniform(r, 1, 10);
  b.cores = static_cast<int>(r.Between(2, 5));
  return b;
}

TimeTruth TimesOf(const Network& network, const Point& x) {
  const double seconds = Queueing(x, network);
  return {network.think / (seconds * x.workers), 0,
          network.server / (std::min(x.servers, network.servers_max) * seconds)};
}

// Closed queueing network by exact mean value analysis: workers think, then visit a link and one of the servers.
double Queueing(const Point& x, const Network& network) {
  const auto& [think, link, server, server_kinds, skew] = network;
  const int stations = 1 + server_kinds;
  std::array<double, 10> demand{}, queue{};
  demand[0] = link;
  double sum = 0;
  const int p = std::min(x.servers, server_kinds);
  for (int i = 0; i < p; ++i) sum += std::pow(i + 1.0, -skew);
  for (int i = 0; i < p; ++i) demand[static_cast<size_t>(i) + 1] = server * std::pow(i + 1.0, -skew) / sum;
  double rate = 0;
  for (int n = 1; n <= x.workers; ++n) {
    double response = think;
    std::array<double, 10> wait{};
    for (int k = 0; k < stations; ++k) {
      const auto i = static_cast<size_t>(k);
      wait[i] = demand[i] * (1 + queue[i]);
      response += wait[i];
    }
    rate = n / response;
    for (int k = 0; k < stations; ++k) queue[static_cast<size_t>(k)] = rate * wait[static_cast<size_t>(k)];
  }
  return 1 / rate;
}

namespace {

void RandomLoss(JobModel& job, Random& r) {
  LossTruth& loss = job.loss;
  loss.floor = Uniform(r, 0.05, 0.8);
  loss.drop = Uniform(r, 1, 4);
  if (r.Chance(0.65)) {
    loss.kind = LossTruth::Kind::kPower;
    loss.power = std::array<double, 4>{0.5, 0.8, 1, 1.6}[r.Below(4)];
    loss.tau = LogUniform(r, 0.01, 0.4);
  } else {
    loss.kind = LossTruth::Kind::kExponential;
    loss.power = Uniform(r, 0.6, 1);
    loss.tau = LogUniform(r, 0.08, 0.5);
  }
}

}  // namespace

JobModel RandomJob(const std::string& family, Random& r) {
  JobModel job;
  job.family = family;
  job.length_windows = LogUniform(r, 100, 2000);
  job.window_seconds = LogUniform(r, 2, 30);
  job.speed_noise = Uniform(r, 0.02, 0.06);
  job.costs = {.live = 0.2, .relocation = Uniform(r, 1, 5), .pods = Uniform(r, 5, 40), .crash = Uniform(r, 28, 91)};
  const double where = r.Uniform();
  if (where < 0.6)
    job.start = {4, 4, 2};
  else if (where < 0.8)
    job.start = {1, 1, 1};
  else
    job.start = {static_cast<int>(r.Between(1, 8)), static_cast<int>(r.Between(1, 16)),
                 static_cast<int>(r.Between(1, 4))};
  RandomLoss(job, r);
  const double c = r.Chance(0.4) ? 0 : LogUniform(r, 0.002, 0.03);
  job.efficiency = [c](double z) { return 1 / (1 + c * z); };
  return job;
}

void UseBase(JobModel& job, const Base& base) {
  const bool bsp = job.mode == SyncMode::Bsp();
  job.seconds_per_update = [base, bsp](const Point& x, double) { return Stages(base, x, bsp); };
  job.times = [base, bsp](const Point& x) { return TimesOf(base, x, bsp); };
}

}  // namespace attune::bench
