// The times that the coordinator is stepped at: when it looks after what no message brings about, and when it sends
// again what may be lost. Externally synchronized.
#pragma once

#include <algorithm>

#include "base/pause_watch.h"
#include "base/time_source.h"

namespace attune::ps {

class CheckTimes {
 public:
  // True with the first step, from which on there is a next check. A clock that goes back stands still.
  bool Step(MonotonicTime now, Duration check_interval, Duration again_after) {
    now_ = std::max(now, now_);
    if (next_check_ != kNever) return false;
    next_check_ = now_ + check_interval;
    next_again_ = now_ + again_after;
    return true;
  }
  // Of the step in progress.
  MonotonicTime now() const { return now_; }
  MonotonicTime next_check() const { return next_check_; }
  bool CheckIsDue() const { return now_ >= next_check_; }
  void Checked(Duration interval) { next_check_ = now_ + interval; }
  // True when what may be lost is to be sent again; then not before `after`.
  bool TakeAgain(Duration after) {
    if (now_ < next_again_) return false;
    next_again_ = now_ + after;
    return true;
  }
  // For how long this process has stood still before this step.
  Duration Paused(Duration tolerance) const { return PausedFor(next_check_, now_, tolerance); }

 private:
  MonotonicTime now_{};
  MonotonicTime next_check_ = kNever;
  MonotonicTime next_again_ = kNever;
};

}  // namespace attune::ps
