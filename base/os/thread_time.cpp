#include "base/os/thread_time.h"

#include <pthread.h>

namespace attune {

void ThreadTime::WatchThis() {
  clockid_t clock = kNone;
  if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) clock_ = clock;
}

double ThreadTime::seconds() const {
  const clockid_t clock = clock_;
  timespec time{};
  if (clock == kNone || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace attune
