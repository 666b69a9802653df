// Reconcile as a pure function: what was seen -> what to do. A second plan on the same observation, after the first was
// carried out, does nothing (it may ask to be looked at later).
//
//   manifest invalid -> say so        job ended -> release pods, clean up, expire
//   servers (servers.h) -> workers (workers.h) -> the end, if it is one -> status (status.h)
#pragma once

#include <vector>

#include "operator/controller/actions/action.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

std::vector<Step> Plan(const Observed& observed, const PlanOptions& options, Now now);

// Pods labelled with a job that no longer exists (or is an earlier one of that name): whatever is on its way out is let
// go, and within ten seconds; deletion itself is the garbage collector's, by owner references.
std::vector<Step> PlanWithoutJob(const std::vector<ObservedPod>& pods, WallTime now);

}  // namespace attune::controller
