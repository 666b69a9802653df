// Families of jobs whose limits of CPU are knobs. Time is passed as under a quota of a control group: a process
// computes until its share of a period is used up and stands still for the rest, which is what its throttled share
// shows.
#include <algorithm>
#include <array>
#include <cmath>

#include "bench/tuning/family_base.h"

namespace attune::bench {
namespace {

struct CoreJob {
  double work = 1, parallel = 0.8;  // CPU seconds of a step, and the share that threads divide
  double threads = 4;               // of the program, where they are no knob
  double bandwidth = 1e9;           // cores' worth of memory accesses: beyond it cores are busy and not faster
  double messages = 0.1, wait = 0.1, fan = 0.01;  // CPU seconds of messages; seconds on the wire; each server's
  double service = 0.2, server_threads = 4;       // CPU seconds of an update at a server
  double norm = 4;                                // of overlapping
  double host_cores = 1e9;
  bool queues = false;  // updates wait for servers as in a closed network instead
};

// Of one worker: seconds that a step takes it without its waits, and those in which it stands still.
struct Phase {
  double seconds = 0, stalled = 0, cpu = 0;
};

Phase PhaseOf(double cpu_seconds, double threads, double speed, double cores) {
  const double running = cpu_seconds / speed;  // unlimited
  const double burned = running * threads;     // CPU time
  const double limited = burned / std::max(cores, 1e-3);
  return {std::max(running, limited), std::max(0.0, limited - running), burned};
}

struct Pace {
  double seconds = 0;  // per update of the job
  CpuTruth cpu;
  TimeTruth times;
};

Pace PaceOf(const CoreJob& j, const Point& x) {
  const double cores = x.worker_millicores > 0 ? 1e-3 * x.worker_millicores : 1e9;
  const double server_cores = x.server_millicores > 0 ? 1e-3 * x.server_millicores : 1;
  const double threads = x.threads > 1 || j.threads < 1 ? x.threads : j.threads;
  Phase step;
  const std::array phases = {PhaseOf((1 - j.parallel) * j.work + j.messages, 1, 1, cores),
                             PhaseOf(j.parallel * j.work, threads, std::min(threads, j.bandwidth), cores)};
  for (const Phase& phase : phases) {
    step.seconds += phase.seconds;
    step.stalled += phase.stalled;
    step.cpu += phase.cpu;
  }
  const double busy = x.workers * std::min(step.cpu / step.seconds, cores) + x.servers * std::min(1.0, server_cores);
  const double crowd = std::max(1.0, busy / j.host_cores);
  step.seconds *= crowd;
  const double served = std::min(server_cores, j.server_threads);
  const double latency = j.service / std::min(server_cores, 1.0) * crowd;
  const double cycle = step.seconds + j.wait + latency + j.fan * x.servers;
  Pace pace;
  if (j.queues) {
    pace.seconds = Queueing(x, {cycle - latency, 0.02 * j.wait, j.service / served * crowd, x.servers, 0.3});
  } else {
    const double server = j.service * crowd / (x.servers * served);
    pace.seconds = std::pow(std::pow(cycle / x.workers, j.norm) + std::pow(server, j.norm), 1 / j.norm);
  }
  const double turn = pace.seconds * x.workers;  // of one worker, with its waits
  pace.cpu.worker_throttled = std::min(0.99, step.stalled / turn);
  pace.cpu.worker_use = std::min(1.0, step.cpu / (turn * cores));
  const double load = std::min(1.0, j.service / (pace.seconds * x.servers * server_cores));
  pace.cpu.server_use = load;
  const double burst = std::max(0.0, 1 - server_cores / j.server_threads);  // stands still so long when it is full
  pace.cpu.server_throttled = burst * std::pow(std::max(0.0, (load - 0.5) / 0.5), 2);
  pace.times = {step.seconds / turn, 0, std::min(1.0, j.service * crowd / (pace.seconds * x.servers * served))};
  return pace;
}

CoreJob RandomCoreJob(Random& r) {
  CoreJob j;
  j.parallel = Uniform(r, 0.5, 0.97);
  j.threads = std::exp2(static_cast<double>(r.Between(0, 3)));
  j.messages = LogUniform(r, 0.02, 0.3);
  j.wait = LogUniform(r, 0.02, 0.4);
  j.fan = LogUniform(r, 0.002, 0.03);
  j.service = LogUniform(r, 0.05, 0.6);
  j.server_threads = std::exp2(static_cast<double>(r.Between(0, 3)));
  j.norm = LogUniform(r, 2, 10);
  return j;
}

void Use(JobModel& job, const CoreJob& cores) {
  job.seconds_per_update = [cores](const Point& x, double) { return PaceOf(cores, x).seconds; };
  job.cpu = [cores](const Point& x) { return PaceOf(cores, x).cpu; };
  job.times = [cores](const Point& x) { return PaceOf(cores, x).times; };
}

// Six servers and ten workers at most, limits from a quarter of a core to four; where the job starts is drawn.
void Ranges(JobModel& job, Random& r, int worker_start, int server_start) {
  job.servers_max = 6;
  job.workers_max = 10;
  job.threads_max = 1;
  job.worker_cores.low = job.server_cores.low = 250;
  job.worker_cores.high = job.server_cores.high = 4000;
  job.start = {static_cast<int>(r.Between(1, 3)), static_cast<int>(r.Between(2, 6)), 1, worker_start, server_start};
}

void ShortWorkers(JobModel& job, Base, Random& r) {
  Ranges(job, r, 250, 1000);
  Use(job, RandomCoreJob(r));
}
void ShortServers(JobModel& job, Base, Random& r) {
  Ranges(job, r, 1000, 250);
  CoreJob cores = RandomCoreJob(r);
  cores.service = LogUniform(r, 0.2, 1);
  Use(job, cores);
}
void Oversized(JobModel& job, Base, Random& r) {
  Ranges(job, r, 4000, 4000);
  Use(job, RandomCoreJob(r));
}
void MemoryBound(JobModel& job, Base, Random& r) {
  Ranges(job, r, 500, 1000);
  CoreJob cores = RandomCoreJob(r);
  cores.threads = 8;
  cores.bandwidth = Uniform(r, 1.2, 4);
  Use(job, cores);
}
void CoreQuota(JobModel& job, Base, Random& r) {
  Ranges(job, r, 500, 500);
  const double most = LogUniform(r, 6000, 20'000);
  job.limits = {{.terms = {{1, {"workers", "worker_millicores"}}, {1, {"servers", "server_millicores"}}},
                 .most = most,
                 .what = "quota of cores"}};
  job.allowed = [most](const Point& x) {
    return x.workers * x.worker_millicores + x.servers * x.server_millicores <= most;
  };
  Use(job, RandomCoreJob(r));
}
void CoresAndThreads(JobModel& job, Base, Random& r) {
  Ranges(job, r, 500, 0);
  job.servers_max = 4;
  job.workers_max = 8;
  job.threads_max = 4;
  job.server_cores.low = job.server_cores.high = 0;
  CoreJob cores = RandomCoreJob(r);
  cores.threads = 0;
  Use(job, cores);
}

// ---- validation ----
void CoreQueues(JobModel& job, Base, Random& r) {
  Ranges(job, r, r.Chance(0.5) ? 500 : 2000, r.Chance(0.5) ? 500 : 2000);
  CoreJob cores = RandomCoreJob(r);
  cores.queues = true;
  cores.service = LogUniform(r, 0.1, 0.8);
  const double c = LogUniform(r, 0.005, 0.05);
  job.efficiency = [c](double z) { return 1 / (1 + c * z); };
  Use(job, cores);
}
void CoresOfOneHost(JobModel& job, Base, Random& r) {
  Ranges(job, r, r.Chance(0.5) ? 250 : 2000, 1000);
  CoreJob cores = RandomCoreJob(r);
  cores.host_cores = LogUniform(r, 6, 24);
  job.heavy_share = 0.05;
  job.heavy_depth = 0.5;
  Use(job, cores);
}

constexpr std::array kResources = {Family{"cores-short-workers", ShortWorkers},
                                   Family{"cores-short-servers", ShortServers},
                                   Family{"cores-oversized", Oversized},
                                   Family{"cores-memory-bound", MemoryBound},
                                   Family{"cores-quota", CoreQuota},
                                   Family{"cores-and-threads", CoresAndThreads}};
constexpr std::array kResourcesHoldOut = {Family{"cores-queues", CoreQueues},
                                          Family{"cores-of-one-host", CoresOfOneHost}};

}  // namespace

std::span<const Family> ResourceFamilies() { return kResources; }
std::span<const Family> ResourceHoldOutFamilies() { return kResourcesHoldOut; }

}  // namespace attune::bench
