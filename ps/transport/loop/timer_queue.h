// The timers of a loop that are set, by the time at which they fire.
//
// Of the loop; not thread-safe. It must outlive its timers.
#pragma once

#include <map>
#include <memory>

#include "base/time_source.h"
#include "ps/transport/event_loop.h"

namespace attune::ps {

class TimerQueue {
 public:
  std::unique_ptr<EventLoop::Timer> New();

  bool empty() const { return timers_.empty(); }
  // When the next one fires; kNever: none is set.
  MonotonicTime next() const { return timers_.empty() ? kNever : timers_.begin()->first; }
  // REQUIRES: !empty(). The next one; timers may be set, moved and destroyed by what it calls, itself too.
  void FireNext();

 private:
  class LoopTimer;
  using Timers = std::multimap<MonotonicTime, LoopTimer*>;

  Timers timers_;
};

}  // namespace attune::ps
