// A whole job - coordinator, servers, workers with their programs - from one seed in one thread, over a network that
// delays, reorders, duplicates and breaks. Checkers watch from outside and keep their own account of what must be true:
//
//   OwnPushes      a pull shows every push of its worker issued before it, and nothing nobody pushed
//   VersionsRise   what a worker sees of a row never falls from one pull to a later one
//   SumOfPushes    at the end, rows = sum of pushes of workers that left cleanly, plus what dead ones may have got
//   through EveryItem      each item of each epoch is processed once; with failures, extra runs <= reported reprocessed
//   items;
//                  what counts as done is in the rows
//   EveryCallEnds  each call completes exactly once, by its deadline
//   AtRest         when all have left: nothing parked, the job finished
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ps/core/mutations.h"

namespace attune::ps::simulation {

// Drawn from the seed.
struct Parameters {
  uint64_t seed = 0;
  uint32_t servers = 1, workers = 1, shards = 8;
  uint64_t items = 50, epochs = 1, lease_items = 10, keys = 50;
  uint32_t pushes_in_flight_max = 8;
  size_t keys_per_message_max = 8, keys_per_call_max = 12;
  double delay_milliseconds_max = 5;
  double duplicate_chance = 0;  // of a message
  double break_chance = 0;      // of a link, per message sent on it
  double late_copy_chance = 0;  // a message in flight at a break arrives all the same
  double short_deadline_chance = 0;
  uint32_t deaths = 0, isolations = 0, joins = 0, leaves = 0;
  double save_chance = 0;
  uint32_t backups = 0, server_deaths = 0;

  static Parameters FromSeed(uint64_t seed);
};
std::string ToString(const Parameters& parameters);

struct Result {
  std::vector<std::string> violations;  // the first few; empty: all good
  uint64_t digest = 0;                  // of every delivery and completion, in order
  uint64_t messages = 0, duplicate_pushes = 0, parked_pulls = 0, breaks = 0, reprocessed = 0;
  uint64_t replicated = 0, server_deaths = 0;
  uint64_t deadlines_passed = 0, lost_workers = 0, saves = 0;
  double simulated_seconds = 0;
};

Result Simulate(const Parameters& parameters, const Mutations& mutations = {}, bool trace = false);

}  // namespace attune::ps::simulation
