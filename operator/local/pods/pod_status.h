// What the status of a pod says: a pure function of what the node agent knows of it.
#pragma once

#include "operator/local/pods/pod_plan.h"

namespace attune::local {

// The status of the pod. `object`, as it is in the API, supplies the transition times of conditions that did not
// change.
kube::Json StatusOf(const PodRecord& pod, const kube::Json& object, WallTime now);

}  // namespace attune::local
