// What workers make of announced rows, in messages between processes.
#pragma once

#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/row_management.h"
#include "base/status.h"

namespace attune {

inline v1::RowManagement ToProto(RowManagement management) {
  switch (management) {
    case RowManagement::kStatic:
      return v1::ROW_MANAGEMENT_STATIC;
    case RowManagement::kAlways:
      return v1::ROW_MANAGEMENT_ALWAYS;
    case RowManagement::kAdaptive:
      break;
  }
  return v1::ROW_MANAGEMENT_ADAPTIVE;
}

// InvalidArgument: one that this release does not know.
inline StatusOr<RowManagement> FromProto(v1::RowManagement management) {
  switch (management) {
    case v1::ROW_MANAGEMENT_ADAPTIVE:
      return RowManagement::kAdaptive;
    case v1::ROW_MANAGEMENT_STATIC:
      return RowManagement::kStatic;
    case v1::ROW_MANAGEMENT_ALWAYS:
      return RowManagement::kAlways;
    default:
      return Error(StatusCode::kInvalidArgument, "a row management that this release does not know (" +
                                                     std::to_string(static_cast<int>(management)) + ")");
  }
}

}  // namespace attune
