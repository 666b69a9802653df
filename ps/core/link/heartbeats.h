// A node's heartbeats to its coordinator: their numbers, when the next one is due, and the liveness lease that answers
// give (liveness_lease.h). Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/pause_watch.h"
#include "base/time_source.h"
#include "ps/core/link/liveness_lease.h"

namespace attune::ps {

class Heartbeats {
 public:
  explicit Heartbeats(Duration interval) : interval_(interval) {}

  // The number of the next message that says how this node stands.
  uint64_t TakeNumber() { return ++number_; }
  // One is being sent, or cannot be for want of a connection: when to try again.
  MonotonicTime Schedule(MonotonicTime now) { return next_ = now + interval_; }
  // The next one is waited for: no later than a fifth of the interval from now.
  void Hasten(MonotonicTime now) { next_ = std::min(next_, now + interval_ / 5); }
  // The one with the last number has been sent.
  void Sent(MonotonicTime now) { lease_.Sent(number_, now); }
  void Answered(uint64_t number, Duration liveness) { lease_.Answered(number, liveness); }

  uint64_t number() const { return number_; }  // the last one taken; 0: none
  bool Due(MonotonicTime now) const { return now >= next_; }
  MonotonicTime next() const { return next_; }  // kNever before the first
  // For how long this process has stood still, by when it should have sent one.
  Duration PausedUntil(MonotonicTime now) const { return PausedFor(next_, now, interval_); }
  const LivenessLease& lease() const { return lease_; }
  // Whether the node may act: the coordinator answers it.
  bool MayAct(MonotonicTime now) const { return lease_.Valid(now); }
  // How long the node may not act already; zero while it may.
  Duration Silence(MonotonicTime now) const { return MayAct(now) ? Duration::zero() : now - lease_.ends(); }

 private:
  const Duration interval_;
  uint64_t number_ = 0;
  MonotonicTime next_ = kNever;
  LivenessLease lease_;
};

}  // namespace attune::ps
