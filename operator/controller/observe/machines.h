// What machines have left, as far as this operator sees: nodes, and the requests of pods it made. Pods of others are
// not counted, so the figures are upper bounds; they explain why a pod waits, kube-scheduler decides.
#pragma once

#include <string>
#include <vector>

#include "operator/controller/observe/observed.h"
#include "operator/kube/watch/watch_cache.h"
#include "operator/scheduler/fit.h"

namespace attune::controller {

// Keeps only what is read of a node: what it can take, whether it is ready, and whether it is cordoned.
kube::Json ProjectNode(const kube::Json& node);
ObservedNode ObserveNode(const kube::Json& node);

// Requests of all containers of a pod: those that run side by side add up, and init containers that end before them
// count where one is larger. (KEP-753's rule, without its finer order of sidecars.)
scheduler::Resources RequestsOf(const kube::Json& pod);

// Allocatable of every node that takes pods, minus `pods`.
std::vector<scheduler::Machine> FreeMachines(const std::vector<kube::Snapshot>& nodes,
                                             const std::vector<ObservedPod>& pods);

// Whether what machines have left matters to the next plan: a pod waits for a place, one is asked to move, or one of
// the workers has to go. A look at machines is a look at every pod there is.
bool NeedsMachines(const Observed& observed);

// Why pods of this role are not placed, from figures: "worker-1 requests 4 CPU ...". "" when nothing is known, or when
// the figures show no shortage.
std::string ExplainWaiting(const Observed& observed, RoleName role);

}  // namespace attune::controller
