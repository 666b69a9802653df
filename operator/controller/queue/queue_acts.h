// What a job that names a queue of Kueue does there: it asks for a place, says when it has used it, and gives it back
// once it has no pods any more. Pure.
#pragma once

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

void PlanQueue(const Observed& observed, const PlanOptions& options, Now now, Draft& draft);

}  // namespace attune::controller
