// What an API server makes of the resources of a pod's containers: defaults, quality of service, what a pod may ask for
// and which fields of a pod that exists may change, by the main path and by the subresource "resize". Pure functions;
// rules and texts are those of Kubernetes 1.34 (ValidatePodResize, ValidatePodUpdate).
#pragma once

#include <string>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

// resources.<list>.<name> in cores or bytes, of "limits" or "requests"; 0 where it is absent or no quantity: for
// Kubernetes as well an amount of zero is none.
double ResourceAmount(const kube::Json& resources, const char* list, const char* name);
// Equal as quantities: "0.5" and "500m".
bool SameAmount(double a, double b);

// A request that is not given is the limit.
void SetResourceDefaults(kube::Json& container);
// "Guaranteed", "Burstable" or "BestEffort".
std::string QosClass(const kube::Json& pod);

// Of a pod that is created or changed: quantities, requests within limits, policies of resizing. InvalidArgument names
// the fields.
Status CheckPodResources(const kube::Json& pod);
// `next` becomes `old` but for resources and policies of resizing of its containers: a resize changes nothing else, and
// other fields in a request have no effect. Containers that are not those of `old` stay, to be refused.
void KeepAllButResources(const kube::Json& old, kube::Json& next);
// Whether a pod may change so through "resize".
Status CheckPodResize(const kube::Json& old, const kube::Json& next);
// Whether a pod's spec may change so by the main path: it is fixed but for a few fields.
Status CheckPodSpecUpdate(const kube::Json& old, const kube::Json& next);

}  // namespace attune::local
