// One look at a job: the object, its pods and its Events, as a view.
#pragma once

#include "base/status.h"
#include "cli/runs/job_view.h"
#include "operator/kube/api.h"

namespace attune::cli {

// A job that is not there (any more) is a view of the outcome kDeleted. Pods and Events that cannot be read are absent:
// what is known of the job is shown without them.
StatusOr<JobView> LookAtJob(kube::Api& api, const kube::ObjectKey& key, const kube::CallOptions& call);

}  // namespace attune::cli
