// What the coordinator has done of itself for the rows of a job, as the status remembers it. Values.
#pragma once

#include <cstdint>
#include <string>

namespace attune::api {

// What losses of servers have cost.
struct RecoveryStatus {
  uint64_t count = 0;          // recoveries so far
  uint64_t restored_rows = 0;  // rows that went back to a checkpoint or their first value
  uint64_t restored_shards = 0;
  uint64_t checkpoint = 0;  // that the last one took; 0: there was none
  uint64_t step = 0;        // where that was cut
  uint64_t steps_lost = 0;  // of all workers, since then
};

// The last hot server that has given shards away.
struct ReliefStatus {
  uint64_t term = 0;    // of the coordinator that relieved it
  uint64_t number = 0;  // of that coordinator's
  std::string message;
};

}  // namespace attune::api
