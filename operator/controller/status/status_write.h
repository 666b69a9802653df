// Whether a new status is worth a write: every one is news to all who watch the job, and a version of it to etcd.
#pragma once

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// Writes `next` when it says something new: at once for facts; pods that are counted while they come at most every
// counts_interval; figures of progress at most every status_interval (then a later look is requested). The write, when
// there is one.
Draft::Needs PlanStatus(const Observed& observed, api::TrainingJobStatus next, const PlanOptions& options, Now now,
                        Draft& draft);

}  // namespace attune::controller
