// Removing the finalizer from every pod that operators hold: after the last operator is gone, no process records ends
// of pods any more, and a pod that is deleted would stay for ever.
#pragma once

#include <string>

#include "base/status.h"
#include "operator/kube/api.h"

namespace attune::controller {

// One pass over all pods of jobs, in this namespace or ("") in all. Returns of how many it removed the finalizer.
// Continues past pods that cannot be patched and returns their error in the end.
StatusOr<int> ReleasePods(kube::Api& api, const std::string& name_space);

}  // namespace attune::controller
