// A small structural model of a job: how fast it trains at a setting, and what its processes do meanwhile. Pure.
//
// Workers compute a step, then ask all servers for rows and push to them: a closed queueing network of so many workers
// and one station, solved by exact mean value analysis. With c seconds of computing for a step on one core:
//
//   a worker computes   c ((1 - m) / min(threads, cores) + m / min(1, cores)),  m: the share that memory bounds
//                       and waits for the slowest with a bounded lead: x (1 + 0.15 sqrt(2 ln workers) / (1 + slack))
//   messages            c (link_share + kLinkSharePerServer servers)
//   one server serves   c server_share / servers / min(1, cores of a server)
//
// All processes together get no more CPU time than the machine has cores; one that waits for its turn costs 1 %.
#pragma once

#include "base/sync_mode.h"
#include "operator/controller/observe/tuning_values.h"

namespace attune::cli {

struct JobModel {
  double samples_per_second = 10'000;  // that one core of a worker computes, > 0
  double samples_per_step = 1'000;     // > 0
  double memory_bound = 0.2;           // share of the computing that more cores of a worker make no faster, 0..1
  double server_share = 0.2;           // time of the servers for a step, against its computing on one core
  double link_share = 0.05;            // time of its messages, likewise
  static constexpr double kLinkSharePerServer = 0.005;  // that each server adds to it
  double noise = 0.04;                                  // deviation of the speed from one window to the next
  double machine_cores = 0;                             // that all pods share; 0: each pod has the cores that it wants
  double staleness_cost = 0;  // c of 1 / (1 + c z): worth of an update made from rows that z others changed
  // Of a change of setting.
  double pod_start_seconds = 10;  // until new pods take part; the job runs on meanwhile
  double relocation_seconds = 3;  // rows move to or from servers; training runs at kRelocationPace meanwhile
  double live_seconds = 0.2;      // other threads, another pace, other limits of CPU; training stands still
  static constexpr double kRelocationPace = 0.4;

  double StepSeconds() const { return samples_per_step / samples_per_second; }  // of computing, on one core
};

// What is true of the model at a setting. Shares are means over the pods of a role.
struct ModelFigures {
  double steps_per_second = 0;  // of all workers
  double staleness = 0;         // updates by others between a worker's pull and its push
  double worth = 1;             // of an update, against one that is not stale
  double worker_compute = 0, server_busy = 0;
  double worker_throttled = 0, server_throttled = 0;  // of time, by a limit of CPU
  double worker_cpu = 0, server_cpu = 0;              // use, share of the limit; 0 without one
  double progress() const { return steps_per_second * worth; }
};

// `mode`: where the setting itself says none.
ModelFigures FiguresAt(const JobModel& model, const controller::JobSetting& setting, SyncMode mode);

}  // namespace attune::cli
