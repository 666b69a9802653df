// The coordinator of a job with real workers and servers that hold no rows, from one seed in one thread: streams to the
// coordinator delay and break, workers and servers join, leave, die and are slow, the operator changes its mind.
// Checkers:
//
//   StepBound     no worker begins step c before every worker with work has finished c - s (BSP: s = 0)
//   CommonStep    all workers go through a step under the same mode
//   EveryItem     each item is processed once; with failures, extra runs <= reported reprocessed items
//   MapUnique     no two maps with one version; homes and copies are live servers, and different ones
//   OneChange     no planned change while a member is not ready with the last one
//   EveryCallEnds steps, leases and commands end in time; the job finishes
//   CutExact      a checkpoint's rows hold all pushes of steps before the cut and none of later ones, and its leases
//   say
//                 exactly which items these were; under Async every item it calls done is in the rows
//   OneTable      a table's number means the same table at every server
//   AtRest        in the end shards lie evenly on the servers that are wanted, with their copies
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ps/core/mutations.h"

namespace attune::ps::coordinator_simulation {

// Drawn from the seed.
struct Parameters {
  uint64_t seed = 0;
  uint32_t servers = 1, workers = 1, shards = 8, backups = 0;
  uint64_t items = 60, epochs = 1, lease_items = 6;
  std::string mode = "async";
  double delay_milliseconds_max = 5;
  double break_chance = 0;  // of a stream to the coordinator, per message
  double slow_worker_factor = 1;
  uint32_t switches = 0, worker_deaths = 0, server_deaths = 0, worker_joins = 0, leaves = 0, scalings = 0, drains = 0;
  uint32_t checkpoints = 0, coordinator_deaths = 0, handovers = 0;

  static Parameters FromSeed(uint64_t seed);
};
std::string ToString(const Parameters& parameters);

struct Result {
  std::vector<std::string> violations;  // the first few; empty: all good
  uint64_t digest = 0;
  uint64_t steps = 0, waits = 0, switches = 0, maps = 0, breaks = 0, reprocessed = 0, recoveries = 0, promotions = 0;
  uint64_t cuts = 0, takeovers = 0, handovers = 0;
};

Result Simulate(const Parameters& parameters, const Mutations& mutations = {}, bool trace = false);

}  // namespace attune::ps::coordinator_simulation
