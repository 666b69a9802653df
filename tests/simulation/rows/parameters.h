// What a seed chooses, unkindly, for a run of the simulation of rows.
#pragma once

#include <cstdint>
#include <string>

namespace attune::ps::simulation {

struct RowParameters {
  uint64_t seed = 0;
  uint32_t servers = 3, workers = 2, shards = 1, keys = 2, tables = 1;
  bool backups = true;
  uint32_t pushes = 8, pulls = 5, reissues = 3, localizes = 6;
  uint32_t home_moves = 0, joins = 0, crashes = 0, suspicions = 0, drains = 0;
  bool call_back = false;
  double delay_max = 1.0;  // milliseconds
  double loss = 0, duplicate = 0, break_chance = 0, late_copy = 0;
  double slow_link = 0;  // factor of one link's delay; 0: none
  double slow_map = 0;   // factor of one node's delay of maps
  double span = 20;      // milliseconds within which things are begun
  uint32_t rows_per_message = 4096;

  static RowParameters FromSeed(uint64_t seed);
};
std::string ToString(const RowParameters& parameters);

}  // namespace attune::ps::simulation
