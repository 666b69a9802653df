// What the conditions of a job must never say together, whatever happened to it. Every status that a fake cluster is
// given to write is held to it.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace attune::controller {

// What is wrong with `next`, written after `before`; empty: nothing. `generation`: of the job's spec when it was
// planned.
std::vector<std::string> Contradictions(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                                        int64_t generation);

}  // namespace attune::controller
