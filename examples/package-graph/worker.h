// Training as a worker of a job: the servers hold the vectors, the coordinator says which links are ours.
#pragma once

#include "base/status.h"
#include "examples/package-graph/flags.h"

namespace attune::package_graph {

// Returns when the job's training is over or this worker was asked to leave.
Status RunWorker(const Flags& flags);

}  // namespace attune::package_graph
