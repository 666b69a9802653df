// How many cores this process really has.
#pragma once

namespace attune::ps {

// The smaller of the thread's affinity and the quota of its control groups, rounded up; at least 1.
int AvailableCores();

}  // namespace attune::ps
