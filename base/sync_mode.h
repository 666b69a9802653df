// How far a worker may run ahead of the slowest one (Ho et al. 2013, "More effective distributed ML via a stale
// synchronous parallel parameter server"). Step c of a worker may begin when every worker has finished c - slack steps.
//
// The one model of it: manifests (operator/api), messages (proto/sync_mode.h) and the tuner's knob "slack"
// (operator/tuner/space/knob.h) are converted where they come in and go out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune {

inline constexpr uint32_t kSlackMax = 1'000'000;  // steps of SSP

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

// "async", "bsp", "ssp:4"; capital letters are as good. InvalidArgument says what is allowed.
StatusOr<SyncMode> ParseSyncMode(std::string_view text);
// As ParseSyncMode reads it.
std::string ToString(SyncMode mode);
// As the papers write it: "Async", "BSP", "SSP(4)".
std::string Describe(SyncMode mode);

}  // namespace attune
