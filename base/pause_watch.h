// A step that comes late is no evidence: a process that was stopped itself (SIGSTOP, a frozen cgroup, a hibernated
// machine, plain starvation) has heard of no member meanwhile, and must not take its own pause for the silence of
// others.
//
// The rule for state machines that are stepped at the time they ask for: when a step comes later than that by more than
// a heartbeat, every "last heard of" moves forward by PausedFor() before anything is judged. Rights that this process
// holds do not move: they run out while it sleeps. Rights that it has granted count from its own sending.
#pragma once

#include <algorithm>

#include "base/time_source.h"

namespace attune {

// For how long this process has stood still: by how much `now` is later than `wanted`, the time of the step it had
// asked for (kNever: none), less `tolerance`, which is what a loaded machine may take. So each late step counts as that
// much silence of the others: if every step is late, one that is never heard is lost all the same, only later.
inline Duration PausedFor(MonotonicTime wanted, MonotonicTime now, Duration tolerance) {
  if (wanted == kNever || now <= wanted) return Duration::zero();
  return std::max(Duration::zero(), now - wanted - tolerance);
}

// `time`, moved by a pause; kNever stays.
inline MonotonicTime MovedBy(Duration pause, MonotonicTime time) {
  return pause < kNever - time ? time + pause : kNever;
}

}  // namespace attune
