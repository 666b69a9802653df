// Training as a worker of a job: the servers hold the vectors, the coordinator says which chunks of the text are ours.
#pragma once

#include "base/status.h"
#include "examples/word2vec/flags.h"

namespace attune::word2vec {

// Returns when the job's training is over or this worker was asked to leave.
Status RunWorker(const Flags& flags);

}  // namespace attune::word2vec
