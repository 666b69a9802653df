// Asking something of a job by an annotation, and looking at it until something is true of it.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

// Of a request that an annotation carries. Differs from any other one: by time, and by process within it.
std::string NewRequestId();

// The job as it was then. DeadlineExceeded after `timeout`, Cancelled at an interrupt beyond those seen before
// (Interrupts::Install before), FailedPrecondition when the job ends first.
StatusOr<api::TrainingJob> WaitForJob(kube::Api& api, const kube::ObjectKey& key, Duration timeout,
                                      const std::function<bool(const api::TrainingJob&)>& done,
                                      int interrupts_seen = 0);

}  // namespace attune::cli
