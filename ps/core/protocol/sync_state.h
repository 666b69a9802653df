// What a worker must know to begin a step.
#pragma once

#include <cstdint>

#include "base/sync_mode.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

// The coordinator repeats it with every answer to a heartbeat.
struct SyncState {
  uint64_t revision = 0;  // term of the coordinator in the upper 32 bits; an older state is ignored
  uint64_t floor = 0;     // steps that every worker with work has finished
  NodeId slowest;         // who holds it; 0: no worker has work
  SyncMode mode;          // of steps from mode_from on
  SyncMode mode_before;   // of steps before it
  uint64_t mode_from = 0;
  uint64_t hold = 0;  // not 0: no step from hold_at on may begin; the number of this preparation
  uint64_t hold_at = 0;
  bool operator==(const SyncState&) const = default;
};
ATTUNE_FIELDS(SyncState, FIELD(revision), FIELD(floor, Is::kCount), FIELD(slowest, Is::kNodeOrNone),
              FIELD_AS("slack", mode), FIELD_AS("slack_before", mode_before), FIELD(mode_from, Is::kCount), FIELD(hold),
              FIELD(hold_at, Is::kCount));

}  // namespace attune::ps
