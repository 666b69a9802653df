// "workers=3 servers=2" and whether it may be. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

struct ScaleRequest {
  std::optional<int32_t> workers, servers;  // one of them at least
};

// InvalidArgument for anything else than workers=N and servers=N, each once.
StatusOr<ScaleRequest> ParseScaleChanges(const std::vector<std::string>& changes);
// InvalidArgument outside the job's bounds; FailedPrecondition when it has ended, or when its servers cannot join and
// leave (yet).
Status CheckScale(const api::TrainingJob& job, const ScaleRequest& request);

}  // namespace attune::cli
