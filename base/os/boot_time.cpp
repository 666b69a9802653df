#include "base/os/boot_time.h"

#include <ctime>

namespace attune {

MonotonicTime BootTime::Now() const {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);  // cannot fail: the clock exists and the address is good
  return MonotonicTime{} + std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

}  // namespace attune
