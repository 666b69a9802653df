// What a seed chooses for a run of the coordinator's simulation.
#pragma once

#include <cstdint>
#include <string>

namespace attune::ps::simulation {

// Drawn from the seed.
struct CoordinatorParameters {
  uint64_t seed = 0;
  uint32_t servers = 1, workers = 1, shards = 8, backups = 0;
  uint32_t machines = 0;  // that servers run on; 0: not known
  uint64_t items = 60, epochs = 1, lease_items = 6;
  std::string mode = "async";
  double delay_milliseconds_max = 5;
  double break_chance = 0;  // of a stream to the coordinator, per message
  double slow_worker_factor = 1;
  uint32_t switches = 0, worker_deaths = 0, server_deaths = 0, worker_joins = 0, leaves = 0, scalings = 0, drains = 0;
  uint32_t checkpoints = 0, coordinator_deaths = 0, handovers = 0;
  bool eager_relief = false;    // servers report loads that change; those with more than others give shards away
  uint32_t stops = 0;           // of a process (SIGSTOP, a hibernated machine), that the platform does not hear of
  double drift_max = 0;         // of servers' clocks: they run at 1 - drift_max to 1 + drift_max
  bool crash_at_table = false;  // the coordinator's server dies when it has just ordered one
  bool early_death = false;     // of the coordinator's server, before all have joined
  bool reports = false;         // of a metric with every step, so that some checkpoints are the best so far
  bool hears_late = false;      // in a handover all other servers, and workers, hear of the new coordinator late

  static CoordinatorParameters FromSeed(uint64_t seed);
};
std::string ToString(const CoordinatorParameters& parameters);

}  // namespace attune::ps::simulation
