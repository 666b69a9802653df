// Processor time of one thread, for other threads to read.
#pragma once

#include <time.h>

#include <atomic>

namespace attune {

class ThreadTime {
 public:
  // From now on of the thread that calls this.
  void WatchThis();
  // In seconds since that thread began; 0 before a thread is watched, and soon after it has ended. Any thread.
  double seconds() const;

 private:
  static constexpr clockid_t kNone = CLOCK_REALTIME;
  std::atomic<clockid_t> clock_{kNone};
};

}  // namespace attune
