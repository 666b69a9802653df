// Time that continues while the machine sleeps (CLOCK_BOOTTIME). The monotonic clock stands still then: a lease that
// was granted before would seem to hold afterwards, though its grantor has counted the time. For processes that hold or
// grant leases. Its values mean nothing to waits that read the steady clock themselves: those are given durations.
#pragma once

#include "base/time_source.h"

namespace attune {

class BootTime final : public TimeSource {
 public:
  MonotonicTime Now() const override;
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

}  // namespace attune
