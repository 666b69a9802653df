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
  // Bad luck that chance alone would have to wait for:
  bool chain = false;        // a row continues and on, its last owner crashes, and one before knows least of it
  bool slow_backup = false;  // the home's messages to the backup are the slow ones, and the home is what crashes
  bool slow_spare =
      false;            // a worker's messages to a server are that becomes a backup again and again, and is given rows
  bool detour = false;  // a home's order is slow, and those of the next home overtake it
  bool comes_back = false;    // a home goes, and is back before an order to it of the home in between
  bool stale_marker = false;  // a join is canceled and begun again while a marker of the first is on its way
  bool trades = false;        // homes move beside their copies and leave others behind
  bool machine = false;       // then the new home and the backup are lost together
  bool outrun = false;        // a backup joins while a row is on its way over a slow link
  uint32_t rounds = 0;        // that workers begin, for copies of rows
  double key_share = 0.6;     // of all keys, in one push
  double delay_max = 1.0;     // milliseconds
  double loss = 0, duplicate = 0, break_chance = 0, late_copy = 0;
  double slow_link = 0;  // factor of one link's delay; 0: none
  double slow_map = 0;   // factor of one node's delay of maps
  double span = 20;      // milliseconds within which things are begun
  uint32_t pauses = 0, partitions = 0;
  double pause = 0;    // milliseconds that a process does not run, at most
  uint32_t queue = 0;  // frames in flight from one node to another; more are dropped. 0: any
  uint32_t rows_per_message = 4096;

  static RowParameters FromSeed(uint64_t seed);

 private:
  static RowParameters Drawn(uint64_t seed);
};
std::string ToString(const RowParameters& parameters);

}  // namespace attune::ps::simulation
