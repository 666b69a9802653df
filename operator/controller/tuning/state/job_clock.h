// The clock of a job: seconds since it began, over all operators that tune it. The wall clock says once where the job
// stands; from there on time passes as it does, whatever that clock does. It never goes back.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

namespace attune::controller {

class JobClock {
 public:
  // `saved`: where an earlier operator left it.
  explicit JobClock(double saved = 0) : now_(saved) {}

  // `time` by the monotonic clock of this process; `age` of the job by wall clocks, read at the first call only.
  double Advance(double time, double age) {
    if (!ahead_) ahead_ = std::max(now_, std::isfinite(age) ? age : 0.0) - time;
    now_ = std::max(now_, time + *ahead_);
    return now_;
  }
  double now() const { return now_; }

 private:
  double now_;
  std::optional<double> ahead_;  // of the monotonic clock of this process
};

}  // namespace attune::controller
