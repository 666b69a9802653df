// Rows and links alone, from one seed in one thread: servers and workers as RowNodes, joined by links over a network that
// delays, reorders, loses, repeats and breaks; a script that publishes maps (homes move, backups are added, nodes crash
// or are taken for dead). Checkers look from outside:
//
//   OneOwner       a row is held by at most one member, or is on its way to one
//   AtMostOnce     no row and no copy contains a push twice
//   AckedPresent   what its origin was told is applied is in the row, or in a copy while the row is being recovered
//   OwnPushes      a pull shows every push of its worker issued before it
//   VersionsRise   what a worker sees of a row never falls
//   FilterSound    a push in a row or copy is recorded there until its origin knows of it
//   StateTravels   optimizer state is that of the same pushes
//   NoStaleWait    at rest nothing waits, is parked, held or unacknowledged, and every directory is right
//   CopiesEqual    at rest each copy equals its row
//   AllApplied     at rest every push of a living worker is applied once and acknowledged
// AckedPresent, OwnPushes, CopiesEqual and AllApplied spare rows that a crash took while they had no complete backup.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ps/core/mutations.h"

namespace attune::ps::simulation {

// Drawn from the seed, unkindly.
struct RowParameters {
  uint64_t seed = 0;
  uint32_t servers = 3, workers = 2, shards = 1, keys = 2, tables = 1;
  bool backups = true;
  uint32_t pushes = 8, pulls = 5, reissues = 3, localizes = 6;
  uint32_t home_moves = 0, joins = 0, crashes = 0, suspicions = 0, drains = 0;
  bool call_back = false;
  double delay_max = 1.0;  // milliseconds
  double loss = 0, duplicate = 0, break_chance = 0, late_copy = 0;
  double slow_link = 0;      // factor of one link's delay; 0: none
  double slow_map = 0;       // factor of one node's delay of maps
  double span = 20;          // milliseconds within which things are begun
  uint32_t rows_per_message = 4096;

  static RowParameters FromSeed(uint64_t seed);
};
std::string ToString(const RowParameters& parameters);

struct RowResult {
  std::vector<std::string> violations;  // the first few; empty: all good
  uint64_t digest = 0;
  uint64_t messages = 0, resent = 0;
  uint64_t handovers = 0, forwarded = 0, waited = 0, parked = 0, replicated = 0;
  uint64_t maps = 0, recoveries = 0, home_moves = 0, joins = 0, drains = 0;
};

RowResult SimulateRows(const RowParameters& parameters, const Mutations& mutations = {}, bool trace = false);

// Name of a mutation ("handover without records"), for reports.
const char* NameOf(RowMutation mutation);

// Runs mutants until each is caught or `seeds_max` seeds have passed; prints a line for each. Returns how many escaped.
int RunRowMutants(uint64_t first_seed, uint64_t seeds_max);

}  // namespace attune::ps::simulation
