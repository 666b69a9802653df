// The synchronization mode in messages between processes.
#pragma once

#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/status.h"
#include "base/sync_mode.h"

namespace attune {

inline v1::Synchronization ToProto(SyncMode mode) {
  v1::Synchronization message;
  message.set_mode(!mode.bounded()    ? v1::Synchronization::ASYNC
                   : *mode.slack == 0 ? v1::Synchronization::BSP
                                      : v1::Synchronization::SSP);
  message.set_staleness(mode.slack.value_or(0));
  return message;
}

// InvalidArgument: a mode that this release does not know, or a staleness that no mode has.
inline StatusOr<SyncMode> FromProto(const v1::Synchronization& message) {
  switch (message.mode()) {
    case v1::Synchronization::ASYNC:
      return SyncMode::Async();
    case v1::Synchronization::BSP:
      return SyncMode::Bsp();
    case v1::Synchronization::SSP:
      if (message.staleness() >= 1 && message.staleness() <= kSlackMax) return SyncMode::Ssp(message.staleness());
      return Error(StatusCode::kInvalidArgument, "a staleness of " + std::to_string(message.staleness()) +
                                                     " steps; 1 to " + std::to_string(kSlackMax) + " are possible");
    default:
      return Error(StatusCode::kInvalidArgument, "a synchronization mode that this release does not know (" +
                                                     std::to_string(static_cast<int>(message.mode())) + ")");
  }
}

// As a process reports it; Async where this release does not know it.
inline SyncMode ReportedMode(const v1::Synchronization& message) {
  return FromProto(message).value_or(SyncMode::Async());
}

}  // namespace attune
