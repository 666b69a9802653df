#include "base/os/boot_time.h"

#include <gtest/gtest.h>

#include <ctime>

namespace attune::boot_time_test {
namespace {

MonotonicTime Read(clockid_t clock) {
  timespec now{};
  EXPECT_EQ(clock_gettime(clock, &now), 0);
  return MonotonicTime{} + std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

TEST(BootTimeTest, ItCountsTheTimeThatTheMachineSleeps) {
  const MonotonicTime before = Read(CLOCK_BOOTTIME);
  const MonotonicTime now = BootTime().Now();
  EXPECT_GE(now, before);
  EXPECT_LE(now, Read(CLOCK_BOOTTIME));
}

}  // namespace
}  // namespace attune::boot_time_test
