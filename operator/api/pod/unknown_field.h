// A field of a pod template that the schema does not have: which one was meant. Internal to this room.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "operator/api/pod/pod_schema.h"

namespace attune::api {

// Objects from the pod down to one, with their places.
using SchemaScopes = std::vector<std::pair<const SchemaType*, std::string>>;

// What to write instead of `name` in the innermost of `scopes`: a name that is right somewhere near, then a name that
// is near, then all names.
std::string InsteadOfUnknown(const SchemaScopes& scopes, const std::string& name);

}  // namespace attune::api
