// Commands that the coordinator has taken up and answers later.
#pragma once

#include "base/sync_mode.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_commands.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

// Answered when all workers keep pace by it.
struct SwitchOrder {
  CommandId id;
  SyncMode mode;
  MonotonicTime deadline;
  bool begun = false;
};

// Drains, and numbers of servers: answered when the shards lie as asked.
struct PlacementOrder {
  CommandId id;
  MonotonicTime deadline;
  NodeId leaving;  // 0: until nothing is left to change
};

// Reports of the platform: answered when the process has no part in the job any more.
struct GoneOrder {
  CommandId id;
  NodeGone process;
  MonotonicTime deadline;
  MapVersion done_by = {};  // the map that says so; 0: not yet
};

}  // namespace attune::ps
