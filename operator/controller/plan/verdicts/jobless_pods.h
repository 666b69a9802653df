// Pods that work for no job any more: its object is gone or going, it has begun another attempt, or another job has
// taken its name.
#pragma once

#include <string>
#include <vector>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

// The job is going, its pods with it.
void EndPods(const std::vector<ObservedPod>& pods, WallTime now, Draft& draft);
// Those of other jobs than `current_job_uid` that are on their way out are let go; deletion itself is the garbage
// collector's, by owner references.
void ReleaseAllGoing(const std::vector<ObservedPod>& pods, const std::string& current_job_uid, WallTime now,
                     Draft& draft);
void RemoveEarlier(const Observed& observed, Draft& draft);

}  // namespace attune::controller
