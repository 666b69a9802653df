// Which news of a coordinator is reported before the window ends: what the operator, or workers that have not begun,
// wait for. Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"

namespace attune::ps {

class UrgentNews {
 public:
  // Not after every step: a job of many workers takes thousands of steps a second, and a look passes over all members.
  bool IsDue(MonotonicTime now) {
    constexpr Duration kEvery = std::chrono::milliseconds(100);
    if (now - checked_ < kEvery) return false;
    checked_ = now;
    return true;
  }
  // Since the last look. `formed`: all servers have joined once. A newer map alone can wait for the end of the window;
  // the first one cannot, for the job's workers wait for it.
  bool Changed(const JobProgress& progress, bool formed) {
    News seen{.lease_held = progress.lease.held,
              .wanted_voters = progress.lease.wanted,
              .formed = formed,
              .goal_reached = !progress.goal_reached.empty(),
              .closed = progress.closing.done};
    return std::exchange(last_, seen) != seen;
  }

 private:
  struct News {
    bool lease_held = true;
    std::vector<uint32_t> wanted_voters;
    bool formed = false;
    bool goal_reached = false, closed = false;
    bool operator==(const News&) const = default;
  };
  News last_;
  MonotonicTime checked_{};
};

}  // namespace attune::ps
