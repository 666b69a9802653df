// Processor time for benchmarks: what other processes do meanwhile does not count. In seconds since the thread or the
// process began.
#pragma once

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

namespace attune {

inline double CpuSeconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double ThreadCpuSeconds() { return CpuSeconds(CLOCK_THREAD_CPUTIME_ID); }

// Of all threads. 0: there is no such process.
inline double ProcessCpuSeconds(pid_t process = ::getpid()) {
  clockid_t clock{};
  return ::clock_getcpuclockid(process, &clock) == 0 ? CpuSeconds(clock) : 0;
}

}  // namespace attune
