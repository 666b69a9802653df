// The Kubernetes API of a run that has ended, read from its directory: what asks about a job works the same, and what
// would change it is refused with what can be done instead.
#pragma once

#include <memory>

#include "base/status.h"
#include "cli/runs/run_record.h"
#include "operator/kube/api.h"

namespace attune::cli {

// NotFound when the directory holds the state of no job.
StatusOr<std::unique_ptr<kube::Api>> OpenArchive(const RunRecord& record);

}  // namespace attune::cli
