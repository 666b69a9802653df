// Training as a worker of a job: the servers hold the network, the coordinator says which batches are ours.
#pragma once

#include "base/status.h"
#include "examples/next-character/flags.h"

namespace attune::next_character {

// Returns when the job's training is over or this worker was asked to leave.
Status RunWorker(const Flags& flags);

}  // namespace attune::next_character
