// How lists inside objects merge: which are maps of items with a key field, which are sets. Kubernetes keeps this in
// its schemas; the embedded API needs the few lists that pods, services and job statuses have. Every other list is
// atomic.
#pragma once

#include <string_view>

#include "operator/kube/object.h"

namespace attune::local {

// Key field of the items of the list `field` ("containers" -> "name"); "" when the list is not a map of items.
// Decided by the list's name and, for "conditions" and the like, by every item carrying the key.
std::string_view ListKey(std::string_view field, const kube::Json& list);
bool IsSetList(std::string_view field);  // "finalizers"

}  // namespace attune::local
