#include "ps/transport/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "base/os/cgroup.h"

namespace attune::ps {

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double limit = ReadCgroupLimits(kCgroupMount, ReadCgroupPaths(kOwnCgroups)).cpu_cores;
  if (limit > 0) cores = static_cast<int>(std::min<double>(cores, std::ceil(limit)));
  return std::max(cores, 1);
}

}  // namespace attune::ps
