// Policy after the end of a job: the outcome is recorded, so finalizers of pods are removed, pods are deleted as
// cleanPods says, servers always; the job itself goes when its time to live has passed.
#pragma once

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

void PlanEnding(const Observed& observed, Now now, Draft& draft);

}  // namespace attune::controller
