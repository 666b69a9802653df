// When a pod's end is the job's, because the job's failure policy says so (spec.runPolicy.podFailurePolicy, FailJob).
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/plan/workers.h"

namespace attune::controller {

// A process that was asked to end, by this operator or from outside, has not failed by itself: a pod that is being
// deleted is judged by no rule. Neither is one whose end is on record already, should the rules be edited later.
std::optional<Verdict> JudgeFailurePolicy(const Observed& observed, const ServersView& servers,
                                          const WorkersView& workers);

}  // namespace attune::controller
