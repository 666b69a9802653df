// What speaks for a process being gone, or hung, although its pod says that it runs. Each sign alone may be wrong: a
// node that is not ready may only be cut off from the API server, a sidecar may only be cut off from this operator, and
// a coordinator may be the one that is cut off. Nothing is removed on one sign.
#pragma once

#include "operator/controller/observed.h"
#include "operator/controller/options.h"

namespace attune::controller {

struct Signs {
  bool node_lost = false;  // its node is not ready, or no longer there
  bool silent = false;     // its process has reported nothing to this operator for a while
  bool expelled = false;   // a server that the coordinator, which is heard, does not count any more
  bool overdue = false;    // it is being deleted, and its machine has not confirmed its end in time

  // Its machine is gone: nobody will confirm the end of the pod.
  bool machine_is_gone() const { return (node_lost && silent) || (overdue && (node_lost || silent)); }
  // The process does nothing while its machine may be well: asked to end first.
  bool is_hung() const { return expelled && silent; }
  bool any() const { return node_lost || expelled; }
};

// Of a pod of this job that has started.
Signs SignsOf(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now);

// "node node-2 is not ready, and nothing was heard of its process for 12 s"
std::string Describe(const Signs& signs, const ObservedPod& pod);

// Its node takes no new pods, as the first step of draining it.
bool IsOnCordonedNode(const Observed& observed, const ObservedPod& pod);

// The pod was ended by something else than its program: evicted, preempted, its node shut down, refused by its node.
// Nobody's failure, and counted as none.
bool WasDisrupted(const ObservedPod& pod);

}  // namespace attune::controller
