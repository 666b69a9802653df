// The earliest of the times that something waits for: when a state machine is to be stepped next. What is waited for no
// more stays in it until the next Reset, so that a step may come early, never late. A value.
#pragma once

#include <algorithm>

#include "base/time_source.h"

namespace attune {

class WakeTime {
 public:
  // No later than this.
  void By(MonotonicTime time) { at_ = std::min(at_, time); }
  // It has been reached: what is still waited for is named again. `next` is the first of that.
  void Reset(MonotonicTime next = kNever) { at_ = next; }
  MonotonicTime at() const { return at_; }  // kNever: nothing waits

 private:
  MonotonicTime at_ = kNever;
};

}  // namespace attune
