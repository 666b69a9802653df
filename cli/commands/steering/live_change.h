// A change of a job's spec that the job's servers bring into force while it runs: asked for, and waited for.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

struct LiveChange {
  kube::Json patch;            // merge patch of the job
  std::string doing;           // "switching to BSP", for errors
  std::string refused_reason;  // of the condition Reconfiguring, when servers refuse it
  std::function<bool(const api::TrainingJob&)> is_in_force;
  int64_t timeout_seconds = 60;
};

// Returns once the change is in force, or, of a job that does not run yet, once it is written. FailedPrecondition with
// the job's own words when it is refused.
Status MakeLiveChange(kube::Api& api, const kube::ObjectKey& key, const api::TrainingJob& before,
                      const LiveChange& change);

}  // namespace attune::cli
