// Whether what a job has trained is what its goal was reached with. Pure.
#pragma once

#include "ps/core/coordinator/coordinator_io.h"

namespace attune::ps {

// Rows went back to their first values, or to a checkpoint after the goal was reached. Those that went back to a
// checkpoint before that have been trained again.
inline bool ModelLostRows(const JobProgress& progress) {
  if (progress.shards_restored == 0 || progress.steps_lost == 0) return false;
  return progress.restored_from.checkpoint == 0 || progress.lost_after_goal;
}

}  // namespace attune::ps
