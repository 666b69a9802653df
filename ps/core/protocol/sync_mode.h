// How far a worker may run ahead of the slowest one (Ho et al. 2013, "More effective distributed ML via a stale
// synchronous parallel parameter server"). Step c of a worker may begin when every worker has finished c - slack steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

struct SyncMode {
  std::optional<uint32_t> slack;  // steps; none: Async, no bound. 0: BSP, s: SSP(s)

  static SyncMode Async() { return {}; }
  static SyncMode Bsp() { return {.slack = 0}; }
  static SyncMode Ssp(uint32_t slack) { return {.slack = slack}; }

  bool bounded() const { return slack.has_value(); }
  // The lowest floor under which step `step` may begin.
  uint64_t FloorNeeded(uint64_t step) const { return !slack || step <= *slack ? 0 : step - *slack; }
  bool operator==(const SyncMode&) const = default;
};

// What a worker must know to begin a step; the coordinator repeats it with every answer to a heartbeat.
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

// "async", "bsp", "ssp:4"; capital letters are as good. InvalidArgument says what is allowed.
StatusOr<SyncMode> ParseSyncMode(std::string_view text);
std::string ToString(SyncMode mode);

}  // namespace attune::ps
