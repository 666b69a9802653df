// Where a worker stands, for what depends on its steps and on the pace of the others. A value.
#pragma once

#include <cstdint>

#include "base/sync_mode.h"

namespace attune::ps {

struct StepPoint {
  uint64_t clock = 0;  // steps that this worker's program has ended (Session::clock())
  uint64_t step = 0;   // the one in progress, by the job's count: a worker that joins begins at the floor
  SyncMode mode;       // of that step
  uint64_t floor = 0;  // all workers have finished so many, as far as is known here
};

}  // namespace attune::ps
