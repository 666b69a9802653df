// Training as a worker of a job: the servers hold the vectors, the coordinator says which headers are ours.
#pragma once

#include "base/status.h"
#include "examples/header-words/flags.h"

namespace attune::header_words {

// Returns when the job's training is over or this worker was asked to leave.
Status RunWorker(const Flags& flags);

}  // namespace attune::header_words
