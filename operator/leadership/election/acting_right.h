// For how long the holder of a Lease may act: from when its waiting is over, until some time after the moment before
// its last successful write was sent. Times are of the holder's own monotonic clock.
//
// Pure; not thread-safe. A new one has ended long ago.
#pragma once

#include <algorithm>

#include "base/time_source.h"

namespace attune::leadership {

class ActingRight {
 public:
  // A holder that has just got the Lease waits until `from` before it acts, should that be asked of it.
  void WaitUntil(MonotonicTime from) { from_ = from; }
  // A write that was sent at `sent` has succeeded in time.
  void Renew(MonotonicTime sent, MonotonicTime until) {
    renewed_at_ = sent;
    until_ = until;
  }
  // Ends it now, unless it has ended before.
  void End(MonotonicTime now) { until_ = std::min(until_, now); }
  // As if there had never been one.
  void Void() { until_ = MonotonicTime{}; }

  bool IsOver(MonotonicTime now) const { return now >= until_; }
  MonotonicTime from() const { return from_; }
  MonotonicTime until() const { return until_; }
  // Before the last successful write was sent.
  MonotonicTime renewed_at() const { return renewed_at_; }

 private:
  MonotonicTime from_{};
  MonotonicTime until_{};
  MonotonicTime renewed_at_{};
};

}  // namespace attune::leadership
