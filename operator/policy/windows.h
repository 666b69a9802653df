// The windows of a policy at a moment, for people: which of them hold, and until when.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/api/policy/policy.h"

namespace attune::policy {

struct WindowNow {
  std::string policy;  // "ClusterTuningPolicy night"
  std::string schedule;
  api::TuningMode mode = api::TuningMode::kOff;
  bool holds = false;
  std::string always_because;          // it cannot be read, or its zone is unknown here; "": neither
  std::optional<WallTime> changes_at;  // it begins or ends then; absent: never
  std::string zone;                    // of its clocks
};
std::vector<WindowNow> WindowsOf(const api::Policy& policy, WallTime now);

}  // namespace attune::policy
