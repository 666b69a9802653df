// "workers=3" and whether it may be. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// The wanted number of workers. InvalidArgument for anything else than one workers=N.
StatusOr<int32_t> ParseScaleChanges(const std::vector<std::string>& changes);
// InvalidArgument outside the job's bounds, FailedPrecondition when it has ended.
Status CheckScale(const api::TrainingJob& job, int32_t workers);

}  // namespace attune::cli
