// How many cores this process really has.
#pragma once

#include <string_view>

namespace attune::ps {

// The smaller of the thread's affinity and the container's quota (cgroup v2 cpu.max, v1 cpu.cfs_quota_us), at least 1.
int AvailableCores();

// "MAX PERIOD" of cpu.max as cores, rounded up; 0 when there is no limit or the text is none.
int CoresOfQuota(std::string_view cpu_max);

}  // namespace attune::ps
