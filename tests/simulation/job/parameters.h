// What a seed chooses for a run of the whole job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/random.h"

namespace attune::ps::simulation {

struct JobParameters {
  uint64_t seed = 0;
  uint32_t servers = 1, workers = 1, shards = 8, backups = 0;
  uint64_t items = 50, epochs = 1, lease_items = 10, keys = 50;
  std::string mode = "async";
  uint32_t pushes_in_flight_max = 8;
  size_t keys_per_message_max = 8, keys_per_call_max = 12;
  double delay_milliseconds_max = 5;
  double duplicate_chance = 0;  // of a message
  double loss_chance = 0;       // of a message, its connection staying
  double break_chance = 0;      // of a connection, per message sent on it
  double late_copy_chance = 0;  // a message in flight at a break arrives all the same
  double short_deadline_chance = 0;
  double slow_process_factor = 1;  // of the delays to and from one process
  double late_map_factor = 1;      // of the delays from the coordinator to one worker
  // How often, at times of chance.
  uint32_t deaths = 0, isolations = 0, joins = 0, leaves = 0;  // of workers
  uint32_t server_deaths = 0;                                  // each followed by a new process of that index, or not
  uint32_t machines = 0;                                       // that servers run on; 0: not known
  uint32_t machine_losses = 0;                                 // with all servers on it
  bool lost_amid_change = false;                               // that one, in the middle of a planned change
  uint32_t coordinator_deaths = 0;                             // of the server it runs in; another one takes over
  uint32_t handovers = 0;                                      // of the coordinator to another server, in order
  uint32_t scalings = 0;                                       // servers join, or are drained and leave
  uint32_t switches = 0;                                       // of the synchronization mode
  uint32_t partitions = 0;
  bool eager_relief = false;  // servers that are asked for a little more than others give shards away, again and again
  uint32_t links_cut = 0;     // between two members, both of which the coordinator hears
  uint32_t checkpoints = 0;   // taken by the operator
  bool crash_of_all = false;  // everything ends and is started again from the newest checkpoint
  double save_chance = 0;
  double full_disk_chance = 0;       // of a write
  double localize_chance = 0;        // of a worker that fetches rows, per batch
  uint64_t rows_per_worker_max = 0;  // that it has memory for; 0: any number
  uint32_t announce_ahead = 0;       // steps whose pulls a worker announces before; 0: none
  uint32_t row_management_changes = 0;
  uint64_t age_milliseconds_max = 0;  // of a row that was fetched for that
  uint64_t closing_items = 0;         // of the data set for the closing work; 0: there is none
  double closing_failure_chance = 0;  // of a worker at one of them: it dies, or gives up

  void DrawClosing(uint64_t seed_of_closing);
  void DrawAnnounced(uint64_t seed_of_announced);
  void DrawLateMaps(Random& random);

  // A message takes more than a second: much of what is begun does not end before the next fault, and how far a job
  // gets is chance. It must be safe all the same, and finish once the network is good.
  bool IsHarsh() const { return delay_milliseconds_max * slow_process_factor > 1000; }
  static JobParameters FromSeed(uint64_t seed);
};
std::string ToString(const JobParameters& parameters);

}  // namespace attune::ps::simulation
