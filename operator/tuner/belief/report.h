// What the tuner is shown of a job that trains: one window after another. A plain value.
#pragma once

#include <optional>

#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

// One window (or less) of training at one setting.
struct Report {
  bool ok = true;  // false: the setting crashed
  Setting setting;
  double time = 0;  // its end, seconds on any clock that does not go back
  double seconds = 0;
  double steps = 0;  // updates of single workers
  std::optional<double> loss_mean;
  std::optional<double> metric;
  std::optional<double> staleness;      // updates by others between a pull and its push
  std::optional<double> server_memory;  // fullest server, share of its limit
  std::optional<double> worker_memory;
  // Means over the pods: share of the time that a quota of CPU held them up, and use as a share of their limit.
  std::optional<double> worker_throttled, worker_cpu, server_throttled, server_cpu;
  // Means over the pods: share of a worker's time in which it computes rather than waits (for rows, messages, the
  // pace), and of a server's time in which it serves.
  std::optional<double> worker_compute, server_busy;
  bool during_change = false;
};

}  // namespace attune::tuner
