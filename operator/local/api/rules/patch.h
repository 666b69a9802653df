// The three ways to patch an object. Pure functions from (object, patch) to the new object.
#pragma once

#include "base/status.h"
#include "operator/kube/api.h"

namespace attune::local {

// RFC 7386 merge patch, RFC 6902 JSON patch, or Kubernetes' strategic merge (lists of named items merge by key;
// "$patch": "delete" and "replace" and "$deleteFromPrimitiveList/x" are honored). InvalidArgument says what does not
// fit.
StatusOr<kube::Json> ApplyPatch(const kube::Json& object, kube::PatchType type, const kube::Json& patch);

}  // namespace attune::local
