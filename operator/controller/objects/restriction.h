// What PodSecurity "restricted" asks of pods, where their author did not decide otherwise. Pure.
#pragma once

#include "operator/kube/object.h"

namespace attune::controller {

// Sets `key` unless it is there.
void SetDefault(kube::Json& object, const char* key, kube::Json value);

// Of a container.
void Restrict(kube::Json& container);
// Of a container of our own images, which also do without a writable root.
void RestrictOwn(kube::Json& container);
// Of the pod as a whole, from its spec. Server, sidecar, worker and reader may run as different users; the volumes are
// their common ground.
void RestrictPod(kube::Json& spec);

}  // namespace attune::controller
